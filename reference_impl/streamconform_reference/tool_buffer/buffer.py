"""Tool calls put together from pieces of any provider, whatever the order in which they come.

The buffer drives the one accumulator as the decoders do: every call has a slot of an `Assembler`, which
keeps its id, name and text, parses its arguments and tells its events. What is the buffer's own is to
say which call a piece belongs to, and what became of it:

- A piece with an index belongs to the call of that index in its turn, else one with an id to the call of
  that id. Another id at the same index is another call. A piece with neither begins a call if it has a
  name; else it belongs to the call that came last. An end or an error that names no call is about every
  call that is open.
- A call is `done` when it has ended and its arguments parse, `malformed` when they do not, `failed` when
  an error said so, and `abandoned` when the answer ended without its end. Only one that is done may run.
- What the order of the pieces breaks is noted in `faults`, and the piece is taken as far as it makes
  sense. Nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.events import Event, ToolCallDelta
from streamconform_reference.json_text.incremental import JsonStream
from streamconform_reference.tool_buffer.chunk import ToolChunk

State = Literal["open", "done", "malformed", "failed", "abandoned"]
FaultKind = Literal[
    "no-call",
    "after-end",
    "index-reused",
    "name-changed",
    "mixed-arguments",
    "too-many-calls",
    "sequence",
    "time",
]


@dataclass(frozen=True, slots=True)
class OrderFault:
    """A piece that could not stand where it came; `piece` counts from 0."""

    kind: FaultKind
    piece: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferedCall:
    """A call as far as it has come."""

    id: str
    name: str
    state: State
    arguments: Any
    """A JSON value where it is done, else None."""
    arguments_so_far: Any
    """The best-effort value of what came, to be shown and never to be run."""
    turn_index: int
    call_index: int | None
    call_sequence: int | None
    error: str | None
    error_type: str | None
    metadata: Mapping[str, Any]
    began: float | None
    """The timestamp of its first piece, and of its last one."""
    ended: float | None
    parent_message_id: str | None
    reasoning_context: str | None


@dataclass(slots=True)
class _Call:
    """What the accumulator does not keep of a call; `slot` is its position there."""

    slot: int
    first: ToolChunk
    turn: int
    id: str | None
    name: str | None = None
    ended: State | None = None
    sequence: int | None = None
    patch: dict[str, Any] = field(default_factory=dict)
    text: JsonStream = field(default_factory=JsonStream)
    error: str | None = None
    error_type: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    last: float | None = None
    parent: str | None = None
    reasoning: str | None = None


class ToolBuffer:
    """Takes pieces one at a time; `calls` is what came of them so far."""

    def __init__(self) -> None:
        """Begin with no call."""
        self._assembler = Assembler()
        self._calls: list[_Call] = []
        self._by_index: dict[tuple[int, int], _Call] = {}
        self._by_id: dict[tuple[int, str], _Call] = {}
        self._turn = 0
        self._total: int | None = None
        self._pieces = 0
        self._time: float | None = None
        self._faults: list[OrderFault] = []
        self._finished = False

    @property
    def calls(self) -> tuple[BufferedCall, ...]:
        """Every call, in the order in which they began."""
        return tuple(self._told(call) for call in self._calls)

    @property
    def faults(self) -> tuple[OrderFault, ...]:
        """What was wrong with the order of the pieces."""
        return tuple(self._faults)

    @property
    def complete(self) -> bool:
        """Whether all calls have ended, as many as were announced; without a number more may follow."""
        enough = bool(self._calls) if self._total is None else len(self._calls) >= self._total
        return self._finished or (enough and all(call.ended for call in self._calls))

    def append(self, chunk: ToolChunk) -> list[Event]:
        """Take the next piece; return the events that it brings."""
        self._turn = self._turn if chunk.turn_index is None else chunk.turn_index
        self._total = self._total if chunk.total_calls is None else chunk.total_calls
        self._check_time(chunk)
        for call in self._meant(chunk):
            self._take(call, chunk)
        self._pieces += 1
        return self._events()

    def finish(self) -> list[Event]:
        """Take the end of the answer: calls that are still open are abandoned."""
        self._finished = True
        for call in self._calls:
            call.ended = call.ended or "abandoned"
        return self._events()

    # Whose piece it is.

    def _meant(self, chunk: ToolChunk) -> list[_Call]:
        """Return the calls that a piece is about; a new one begins where none is known."""
        known = self._known(chunk)
        if known is not None:
            return [known]
        if chunk.id is not None or chunk.name is not None:
            return [self._begin(chunk)]
        bare = chunk.args_text_delta is None and chunk.args_kv_patch is None
        if chunk.call_index is None and bare and (chunk.done or chunk.failed):
            return [call for call in self._calls if not call.ended]
        if not bare:
            self._fault("no-call", "arguments of a call that never began")
        return []  # the end of a block that is no call

    def _known(self, chunk: ToolChunk) -> _Call | None:
        if chunk.call_index is not None:
            call = self._by_index.get((self._turn, chunk.call_index))
            if call is None or None in (call.id, chunk.id) or call.id == chunk.id:
                return call or self._by_id.get((self._turn, chunk.id or ""))
            self._fault("index-reused", f"index {chunk.call_index} was of `{call.id}`, now of `{chunk.id}`")
            return self._by_id.get((self._turn, chunk.id or ""))
        if chunk.id is not None:
            return self._by_id.get((self._turn, chunk.id))
        named = chunk.name is not None or (chunk.args_text_delta is None and chunk.args_kv_patch is None)
        return None if named or not self._calls else self._calls[-1]

    def _begin(self, chunk: ToolChunk) -> _Call:
        call = _Call(len(self._calls), chunk, self._turn, chunk.id)
        self._calls.append(call)
        self._assembler.start_call(call.slot, id=chunk.id, name=chunk.name or "", announced=bool(chunk.name))
        if self._total is not None and len(self._calls) > self._total:
            self._fault("too-many-calls", f"call {len(self._calls)} of {self._total}")
        return call

    # What it says.

    def _take(self, call: _Call, chunk: ToolChunk) -> None:
        if call.ended:
            self._fault("after-end", f"a piece for `{call.id or call.name}`, which is {call.ended}")
            return
        self._describe(call, chunk)
        self._add(call, chunk)
        if chunk.failed:
            call.ended, call.error, call.error_type = "failed", chunk.error, chunk.error_type
        elif chunk.done:
            self._assembler.end(call.slot)
            call.ended = "done" if self._assembler.call(call.slot).complete else "malformed"

    def _describe(self, call: _Call, chunk: ToolChunk) -> None:
        if chunk.name and call.name and chunk.name != call.name:
            self._fault("name-changed", f"`{call.name}` is called `{chunk.name}` now")
        call.id, call.name = call.id or chunk.id, call.name or chunk.name
        if chunk.call_index is not None:
            self._by_index[call.turn, chunk.call_index] = call
        if call.id is not None:
            self._by_id[call.turn, call.id] = call
        self._assembler.describe_call(call.slot, id=chunk.id, name=chunk.name or "")
        if call.name:
            self._assembler.announce_call(call.slot)
        self._order(call, chunk.call_sequence)
        call.metadata |= chunk.metadata
        call.last = call.last if chunk.timestamp is None else chunk.timestamp
        call.parent = chunk.parent_message_id or call.parent
        call.reasoning = chunk.reasoning_context or call.reasoning

    def _add(self, call: _Call, chunk: ToolChunk) -> None:
        block = self._assembler.call(call.slot)
        text = chunk.args_text_delta
        if (text and call.patch) or (chunk.args_kv_patch and (text or block.has_fragments)):
            self._fault("mixed-arguments", "a call has text and named arguments; the text counts")
        if text is not None:
            self._assembler.add_arguments(call.slot, text)
        if chunk.args_kv_patch is not None:
            call.patch |= chunk.args_kv_patch
            self._assembler.settle_arguments(call.slot, dict(call.patch))

    def _order(self, call: _Call, sequence: int | None) -> None:
        if sequence is None or call.sequence is not None:
            return
        call.sequence = sequence
        before = [each.sequence for each in self._calls[: call.slot] if each.turn == call.turn]
        if any(each is not None and each >= sequence for each in before):
            self._fault("sequence", f"place {sequence} behind one that is as high or higher")

    def _check_time(self, chunk: ToolChunk) -> None:
        if chunk.timestamp is None:
            return
        if self._time is not None and chunk.timestamp < self._time:
            self._fault("time", f"{chunk.timestamp} behind {self._time}")
        self._time = chunk.timestamp

    def _fault(self, kind: FaultKind, message: str) -> None:
        self._faults.append(OrderFault(kind, self._pieces, message))

    def _events(self) -> list[Event]:
        events = self._assembler.take_events()
        for event in events:
            if isinstance(event, ToolCallDelta):
                self._calls[event.content_index].text.add(event.delta)
        return events

    def _told(self, call: _Call) -> BufferedCall:
        value = self._assembler.call(call.slot).value()
        done = call.ended == "done"
        return BufferedCall(
            id=value.id,
            name=value.name,
            state=call.ended or "open",
            arguments=value.arguments if done else None,
            arguments_so_far=call.text.value() if call.text.begun or not call.patch else dict(call.patch),
            turn_index=call.turn,
            call_index=call.first.call_index,
            call_sequence=call.sequence,
            error=call.error,
            error_type=call.error_type,
            metadata=dict(call.metadata),
            began=call.first.timestamp,
            ended=call.last,
            parent_message_id=call.parent,
            reasoning_context=call.reasoning,
        )
