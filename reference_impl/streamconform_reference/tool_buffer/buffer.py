"""Assemble tool calls from any provider's chunks, in any order.

The buffer uses the decoders' accumulator: every call has a slot in an `Assembler`, which keeps its id, name
and text, parses its arguments and emits its events. The buffer itself decides which call a chunk belongs to,
and which state that call is in:

- A chunk with an index belongs to the call at that index in the chunk's turn; otherwise, a chunk with an id
  belongs to the call with that id. A different id at the same index means another call. A chunk with neither
  starts a call if it has a name; otherwise, it belongs to the latest call in its turn. An end or an error
  that names no call applies to every open call in its turn.
- A call is `done` if it has ended and its arguments can be parsed, `malformed` if they cannot, `failed` if it
  received an error, and `abandoned` if the answer ended but the call did not. A client may run only a `done`
  call.
- Order violations are recorded in `faults`, and as much of the chunk as possible is used. No input
  raises.
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
    """A chunk that violates the order; `piece` is its number, counted from 0."""

    kind: FaultKind
    piece: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferedCall:
    """The current state of a call."""

    id: str
    name: str
    state: State
    arguments: Any
    """A JSON value if the call is done, otherwise None."""
    arguments_so_far: Any
    """The best-effort value so far, for display only; never execute it."""
    turn_index: int
    call_index: int | None
    call_sequence: int | None
    error: str | None
    error_type: str | None
    metadata: Mapping[str, Any]
    began: float | None
    """The timestamp of the call's first chunk; `ended` is the timestamp of its last chunk."""
    ended: float | None
    parent_message_id: str | None
    reasoning_context: str | None


@dataclass(slots=True)
class _CallState:
    """The part of a call's state that the accumulator does not store; `slot` is the call's position there."""

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
    """Takes chunks one at a time; `calls` is the result so far."""

    def __init__(self) -> None:
        """Start with no calls."""
        self._assembler = Assembler()
        self._calls: list[_CallState] = []
        self._by_index: dict[tuple[int, int], _CallState] = {}
        self._by_id: dict[tuple[int, str], _CallState] = {}
        self._turn = 0
        self._total: int | None = None
        self._pieces = 0
        self._time: float | None = None
        self._faults: list[OrderFault] = []
        self._finished = False

    @property
    def calls(self) -> tuple[BufferedCall, ...]:
        """All calls, in the order in which they started."""
        return tuple(self._to_buffered_call(call) for call in self._calls)

    @property
    def faults(self) -> tuple[OrderFault, ...]:
        """Violations of the chunk order."""
        return tuple(self._faults)

    @property
    def complete(self) -> bool:
        """Whether all announced calls have ended; if no number was announced, more may follow."""
        enough = bool(self._calls) if self._total is None else len(self._calls) >= self._total
        return self._finished or (enough and all(call.ended for call in self._calls))

    def append(self, chunk: ToolChunk) -> list[Event]:
        """Add the next chunk; return the resulting events."""
        self._turn = self._turn if chunk.turn_index is None else chunk.turn_index
        self._total = self._total if chunk.total_calls is None else chunk.total_calls
        self._check_time(chunk)
        for call in self._find_calls(chunk):
            self._apply(call, chunk)
        self._pieces += 1
        return self._events()

    def finish(self) -> list[Event]:
        """End the answer; calls that are still open are abandoned."""
        self._finished = True
        for call in self._calls:
            call.ended = call.ended or "abandoned"
        return self._events()

    # The call that a chunk belongs to

    def _find_calls(self, chunk: ToolChunk) -> list[_CallState]:
        """Return the calls that a chunk applies to; start a call if the chunk belongs to a new one."""
        known = self._find_known(chunk)
        if known is not None:
            return [known]
        if chunk.id is not None or chunk.name is not None:
            return [self._begin(chunk)]
        bare = chunk.args_text_delta is None and chunk.args_kv_patch is None
        if chunk.call_index is None and bare and (chunk.done or chunk.failed):
            return [call for call in self._calls_of_turn() if not call.ended]
        if not bare:
            self._fault("no-call", "arguments of a call that never started")
        return []  # the end of a block that is not a call

    def _find_known(self, chunk: ToolChunk) -> _CallState | None:
        if chunk.call_index is not None:
            call = self._by_index.get((self._turn, chunk.call_index))
            if call is None or None in (call.id, chunk.id) or call.id == chunk.id:
                return call or self._by_id.get((self._turn, chunk.id or ""))
            self._fault(
                "index-reused",
                f"index {chunk.call_index} belonged to `{call.id}`, but now belongs to `{chunk.id}`",
            )
            return self._by_id.get((self._turn, chunk.id or ""))
        if chunk.id is not None:
            return self._by_id.get((self._turn, chunk.id))
        names_other = chunk.name is not None or (
            chunk.args_text_delta is None and chunk.args_kv_patch is None
        )
        calls = self._calls_of_turn()
        return None if names_other or not calls else calls[-1]

    def _calls_of_turn(self) -> list[_CallState]:
        return [call for call in self._calls if call.turn == self._turn]

    def _begin(self, chunk: ToolChunk) -> _CallState:
        call = _CallState(len(self._calls), chunk, self._turn, chunk.id)
        self._calls.append(call)
        self._assembler.start_call(call.slot, id=chunk.id, name=chunk.name or "", announced=bool(chunk.name))
        if self._total is not None and len(self._calls) > self._total:
            self._fault("too-many-calls", f"call {len(self._calls)} of {self._total}")
        return call

    # The content of a chunk

    def _apply(self, call: _CallState, chunk: ToolChunk) -> None:
        if call.ended:
            self._fault("after-end", f"a chunk for `{call.id or call.name}`, which is {call.ended}")
            return
        self._describe(call, chunk)
        self._add(call, chunk)
        if chunk.failed:
            call.ended, call.error, call.error_type = "failed", chunk.error, chunk.error_type
        elif chunk.done:
            self._assembler.end(call.slot)
            call.ended = "done" if self._assembler.call(call.slot).complete else "malformed"

    def _describe(self, call: _CallState, chunk: ToolChunk) -> None:
        if chunk.name and call.name and chunk.name != call.name:
            self._fault("name-changed", f"the name changes from `{call.name}` to `{chunk.name}`")
        call.id, call.name = call.id or chunk.id, call.name or chunk.name
        if chunk.call_index is not None:
            self._by_index[call.turn, chunk.call_index] = call
        if call.id is not None:
            self._by_id[call.turn, call.id] = call
        self._assembler.describe_call(call.slot, id=chunk.id, name=chunk.name or "")
        if call.name:
            self._assembler.announce_call(call.slot)
        self._check_sequence(call, chunk.call_sequence)
        call.metadata |= chunk.metadata
        call.last = call.last if chunk.timestamp is None else chunk.timestamp
        call.parent = chunk.parent_message_id or call.parent
        call.reasoning = chunk.reasoning_context or call.reasoning

    def _add(self, call: _CallState, chunk: ToolChunk) -> None:
        block = self._assembler.call(call.slot)
        text = chunk.args_text_delta
        if (text and call.patch) or (chunk.args_kv_patch and (text or block.has_fragments)):
            self._fault("mixed-arguments", "a call has argument text and named arguments; the text is used")
        if text is not None:
            self._assembler.add_arguments(call.slot, text)
        if chunk.args_kv_patch is not None:
            call.patch |= chunk.args_kv_patch
            self._assembler.settle_arguments(call.slot, dict(call.patch))

    def _check_sequence(self, call: _CallState, sequence: int | None) -> None:
        if sequence is None or call.sequence is not None:
            return
        call.sequence = sequence
        earlier = [other.sequence for other in self._calls[: call.slot] if other.turn == call.turn]
        if any(number is not None and number >= sequence for number in earlier):
            self._fault("sequence", f"position {sequence} comes after an equal or higher one")

    def _check_time(self, chunk: ToolChunk) -> None:
        if chunk.timestamp is None:
            return
        if self._time is not None and chunk.timestamp < self._time:
            self._fault("time", f"{chunk.timestamp} comes after {self._time}")
        self._time = chunk.timestamp

    def _fault(self, kind: FaultKind, message: str) -> None:
        self._faults.append(OrderFault(kind, self._pieces, message))

    def _events(self) -> list[Event]:
        events = self._assembler.take_events()
        for event in events:
            if isinstance(event, ToolCallDelta):
                self._calls[event.content_index].text.add(event.delta)
        return events

    def _to_buffered_call(self, call: _CallState) -> BufferedCall:
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
