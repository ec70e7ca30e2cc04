"""Adapt the events of an upstream's answer to a client of another API.

- If the client's API requires arguments to be an object, they are held back until the call is complete,
  healed, and sent in one piece, because sent text cannot be taken back, and official clients raise an error
  if it is not JSON. A client that requests unchecked arguments gets the text of an object as it arrives; any
  other text is healed first.
- A call keeps the upstream's id. A call without one gets a random id, because the ids that decoders generate
  are the same in every answer.
- Thinking that the client did not request becomes a ping. Calls that the provider ran itself are dropped.
- The provider's own stop reason is dropped, since it belongs to another API. An answer that ended early
  becomes an error.

The encoder decides which blocks may be open at the same time, and which may be empty.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from streamconform_proxy.failures import normalize_error
from streamconform_reference.events import (
    Done,
    Event,
    Failed,
    ProseDelta,
    ProseStart,
    TextEnd,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.outcome import Block, Outcome, Stop, Thinking, ToolCall, Usage

NewId = Callable[[int], str]
"""A function that returns the given number of hex digits, different on each call."""

_OBJECT_START: Final = re.compile(r'\s*\{\s*["}]')
_POSSIBLE_OBJECT_START: Final = re.compile(r"\s*(\{\s*)?")


def generate_hex_digits(count: int) -> str:
    """Return random hex digits."""
    return secrets.token_hex((count + 1) // 2)[:count]


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Replaces an event that the client does not get, to show that the upstream is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapingRules:
    """The rules for adapting an answer to its client."""

    thinking: bool
    """Whether the client gets thinking."""
    heals: bool
    """Whether arguments must be an object; other values are healed."""
    eager: bool = False
    """Whether arguments that start like an object are sent as they arrive, unchecked, despite `heals`."""
    whole_calls: bool
    """Whether the upstream sends each tool call in one piece."""
    id_prefix: str
    new_id: NewId = generate_hex_digits
    input_tokens: int | None = None
    """An estimate of the input tokens, used if the upstream does not report them; None for no estimate."""

    def choose_call_id(self, index: int, id_: str) -> str:
        """Return the id of the call at this index in the content."""
        is_generated = re.fullmatch(rf"(call_{index}(_\d+)?)?", id_)
        return f"{self.id_prefix}{self.new_id(16)}" if is_generated else id_

    def finish_arguments(self, text: str | None, value: Any) -> Any:
        """Return the arguments of a call that has ended, healed if they must be an object."""
        if not self.heals:
            return value
        return heal_tool_arguments(text if text and text.strip() else value)

    def finish_usage(self, usage: Usage | None) -> Usage | None:
        """Return the usage at the end of an answer, with the estimate if the input was not reported."""
        if self.input_tokens is None or (usage is not None and usage.input is not None):
            return usage
        return replace(usage or Usage(), input=self.input_tokens)

    def finish_stop(self, stop: Stop, *, called: bool) -> Stop:
        """Return the stop reason; `tool_use` becomes `stop` if the client got no call."""
        return Stop("stop" if stop.reason == "tool_use" and not called else stop.reason, None)


@dataclass(slots=True)
class PendingCall:
    """A tool call in the stream, and its arguments so far."""

    id: str
    name: str
    live: bool | None
    """Whether the call's arguments are sent as they arrive; None if that has not been decided yet."""
    text: str = ""
    ended: bool = False


class Shaper:
    """Shapes the events of one answer."""

    def __init__(self, rules: ShapingRules) -> None:
        """Start before the first event."""
        self._rules = rules
        self._hidden: set[int] = set()
        self._calls: dict[int, PendingCall] = {}
        self._usage: Usage | None = None

    def receive(self, event: Event) -> Iterator[Event | KeepAlive]:
        """Accept the next event; yield the client's events."""
        match event:
            case UsageUpdate():
                self._usage = event.usage
                yield event
            case Done():
                yield from self._finish(event)
            case Failed():
                yield Failed("error", normalize_error(event.error))
            case ProseStart() | ToolCallStart():
                if self._rules.whole_calls:
                    yield from self._end_pending_calls()
                yield from self._start_block(event)
            case _ if event.content_index in self._hidden:
                yield from [KeepAlive()] if isinstance(event, (ProseDelta, ToolCallDelta)) else []
            case ToolCallDelta():
                yield from self._add_delta(event)
            case ToolCallEnd():
                yield from self._end_call(event.content_index, event.tool_call)
            case ProseDelta() | TextEnd() | ThinkingEnd():
                yield event

    def _start_block(self, event: ProseStart | ToolCallStart) -> Iterator[Event]:
        index = event.content_index
        if isinstance(event, ProseStart):
            shown = self._rules.thinking or event.kind != "thinking"
        else:
            shown = event.executor == "client"
        if not shown:
            self._hidden.add(index)
        elif isinstance(event, ProseStart):
            yield event
        else:
            id_ = self._rules.choose_call_id(index, event.id)
            self._calls[index] = PendingCall(id_, event.name, self._choose_live())
            yield replace(event, id=id_)

    def _choose_live(self) -> bool | None:
        if not self._rules.heals:
            return True
        return None if self._rules.eager and not self._rules.whole_calls else False

    def _add_delta(self, event: ToolCallDelta) -> Iterator[Event | KeepAlive]:
        call = self._calls.get(event.content_index)
        if call is None:
            return
        call.text += event.delta
        if call.live:
            yield event
        elif call.live is None and _OBJECT_START.match(call.text):
            call.live = True
            yield replace(event, delta=call.text)
        else:
            if call.live is None and not _POSSIBLE_OBJECT_START.fullmatch(call.text):
                call.live = False
            yield KeepAlive()

    def _end_call(self, index: int, ended: ToolCall) -> Iterator[Event]:
        call = self._calls.get(index)
        if call is None or call.ended:
            return
        call.ended = True
        ended = replace(ended, id=call.id)
        if not call.live:
            healed = self._rules.finish_arguments(call.text, ended.arguments)
            ended = replace(ended, arguments=healed, arguments_text=None, complete=True)
        yield ToolCallEnd(index, ended)

    def _end_pending_calls(self) -> Iterator[Event]:
        """Yield end events for complete calls that got none because their text cannot be parsed."""
        for index, call in self._calls.items():
            if not call.ended:
                yield from self._end_call(index, build_unended_call(call))

    def _finish(self, event: Done) -> Iterator[Event]:
        if self._rules.whole_calls:
            yield from self._end_pending_calls()
        for index, call in self._calls.items():
            # A truncated call is sent unchanged, because healing would make it look complete.
            if not call.ended and not call.live and call.text:
                yield ToolCallDelta(index, call.text)
        usage = self._rules.finish_usage(self._usage)
        if usage is not self._usage and usage is not None:
            yield UsageUpdate(usage, None)
        yield Done(self._rules.finish_stop(event.stop, called=bool(self._calls)))


def shape_outcome(outcome: Outcome, rules: ShapingRules) -> Outcome:
    """Return a complete answer, shaped as its events would be."""
    content = tuple(
        shaped for index, block in enumerate(outcome.content) for shaped in _shape_block(index, block, rules)
    )
    called = any(isinstance(block, ToolCall) for block in content)
    error = None if outcome.status == "complete" else normalize_error(outcome.error)
    return replace(
        outcome,
        content=content,
        stop=rules.finish_stop(outcome.stop, called=called),
        usage=rules.finish_usage(outcome.usage),
        error=error,
    )


def build_unended_call(call: PendingCall) -> ToolCall:
    """Return a call that has not ended, with the arguments text received so far."""
    return ToolCall(
        id=call.id,
        name=call.name,
        arguments=None,
        arguments_text=call.text or None,
        complete=False,
        executor="client",
    )


def _shape_block(index: int, block: Block, rules: ShapingRules) -> Iterator[Block]:
    match block:
        case Thinking():
            if rules.thinking:
                yield block
        case ToolCall():
            if block.executor == "client":
                yield _shape_call(index, block, rules)
        case _:
            yield block


def _shape_call(index: int, call: ToolCall, rules: ShapingRules) -> ToolCall:
    call = replace(call, id=rules.choose_call_id(index, call.id))
    if not (call.complete or rules.whole_calls):
        return call
    value = rules.finish_arguments(call.arguments_text, call.arguments)
    return replace(call, arguments=value, complete=True)
