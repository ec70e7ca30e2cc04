"""The events of an upstream's answer in, those that a client of another api is told out.

- Where arguments have to be an object, they wait until they are whole, are healed, and come out in one piece:
  what was told cannot be taken back, and official clients raise where it turns out to be no JSON. A client
  that asks for them unchecked gets the text of an object as it comes, and every other form healed.
- A call has its upstream's id, or a new one where that gave none: those that decoders make up are the same in
  every answer.
- Thinking that nobody asked for does not come out, only that there was some; nor do the provider's own calls.
- The provider's word for the stop reason is another api's, so it does not come out either. An answer that
  broke off is an error.

What is open at a time, and what may be empty, is for the encoder.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

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

from streamconform_proxy.failures import as_told

NewId = Callable[[int], str]
"""Returns so many hex digits, others with every call."""

_OBJECT: Final = re.compile(r'\s*\{\s*["}]')
_MAYBE_OBJECT: Final = re.compile(r"\s*(\{\s*)?")


def random_digits(count: int) -> str:
    """Return random hex digits."""
    return secrets.token_hex((count + 1) // 2)[:count]


@dataclass(frozen=True, slots=True)
class Unsaid:
    """Something came that is not told: the upstream is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How an answer is shaped."""

    thinking: bool
    """Whether it is told."""
    heals: bool
    """Whether arguments have to be an object."""
    eager: bool = False
    """Whether they are told as they come all the same, unchecked, where they begin like one."""
    whole_calls: bool
    """Whether the upstream sends each call in one piece."""
    id_prefix: str
    new_id: NewId = random_digits
    input_tokens: int | None = None
    """What stands for the tokens of the input where the upstream does not count them; None is nothing."""

    def call_id(self, index: int, given: str) -> str:
        """Return the id of the call at this place in the content."""
        made_up = re.fullmatch(rf"(call_{index}(_\d+)?)?", given)
        return f"{self.id_prefix}{self.new_id(16)}" if made_up else given

    def arguments(self, text: str | None, value: Any) -> Any:
        """Return the arguments of a call that has ended: healed, where they have to be an object."""
        if not self.heals:
            return value
        return heal_tool_arguments(text if text and text.strip() else value)

    def usage(self, usage: Usage | None) -> Usage | None:
        """Return the usage at the end of an answer."""
        if self.input_tokens is None or (usage is not None and usage.input is not None):
            return usage
        return replace(usage or Usage(), input=self.input_tokens)

    def stop(self, stop: Stop, *, called: bool) -> Stop:
        """Return why the answer ended; without a call it is not for the sake of one."""
        return Stop("stop" if stop.reason == "tool_use" and not called else stop.reason, None)


@dataclass(slots=True)
class Call:
    """A call on its way; `live` is whether its arguments are told as they come, None while that is open."""

    id: str
    name: str
    live: bool | None
    text: str = ""
    ended: bool = False


class Shaper:
    """Shapes the events of one answer."""

    def __init__(self, manner: Manner) -> None:
        """Begin before the first event."""
        self._manner = manner
        self._hidden: set[int] = set()
        self._calls: dict[int, Call] = {}
        self._usage: Usage | None = None

    def receive(self, event: Event) -> Iterator[Event | Unsaid]:
        """Take the next event; yield what is told."""
        match event:
            case UsageUpdate():
                self._usage = event.usage
                yield event
            case Done():
                yield from self._done(event)
            case Failed():
                yield Failed("error", as_told(event.error))
            case ProseStart() | ToolCallStart():
                if self._manner.whole_calls:
                    yield from self._settled()
                yield from self._start(event)
            case _ if event.content_index in self._hidden:
                yield from [Unsaid()] if isinstance(event, (ProseDelta, ToolCallDelta)) else []
            case ToolCallDelta():
                yield from self._delta(event)
            case ToolCallEnd():
                yield from self._end(event.content_index, event.tool_call)
            case ProseDelta() | TextEnd() | ThinkingEnd():
                yield event

    def _start(self, event: ProseStart | ToolCallStart) -> Iterator[Event]:
        index = event.content_index
        if isinstance(event, ProseStart):
            told = self._manner.thinking or event.kind != "thinking"
        else:
            told = event.executor == "client"
        if not told:
            self._hidden.add(index)
        elif isinstance(event, ProseStart):
            yield event
        else:
            call = Call(self._manner.call_id(index, event.id), event.name, self._live())
            self._calls[index] = call
            yield replace(event, id=call.id)

    def _live(self) -> bool | None:
        if not self._manner.heals:
            return True
        return None if self._manner.eager and not self._manner.whole_calls else False

    def _delta(self, event: ToolCallDelta) -> Iterator[Event | Unsaid]:
        call = self._calls.get(event.content_index)
        if call is None:
            return
        call.text += event.delta
        if call.live:
            yield event
        elif call.live is None and _OBJECT.match(call.text):
            call.live = True
            yield replace(event, delta=call.text)
        else:
            if call.live is None and not _MAYBE_OBJECT.fullmatch(call.text):
                call.live = False
            yield Unsaid()

    def _end(self, index: int, ended: ToolCall) -> Iterator[Event]:
        call = self._calls.get(index)
        if call is None or call.ended:
            return
        call.ended = True
        ended = replace(ended, id=call.id)
        if not call.live:
            healed = self._manner.arguments(call.text, ended.arguments)
            ended = replace(ended, arguments=healed, arguments_text=None, complete=True)
        yield ToolCallEnd(index, ended)

    def _settled(self) -> Iterator[Event]:
        """Yield the ends of calls that came in one piece, and whose text does not parse."""
        for index, call in self._calls.items():
            if not call.ended:
                yield from self._end(index, unended(call))

    def _done(self, event: Done) -> Iterator[Event]:
        if self._manner.whole_calls:
            yield from self._settled()
        for index, call in self._calls.items():
            if not call.ended and not call.live and call.text:
                yield ToolCallDelta(index, call.text)  # it was cut, and stays so
        usage = self._manner.usage(self._usage)
        if usage is not self._usage and usage is not None:
            yield UsageUpdate(usage, None)
        yield Done(self._manner.stop(event.stop, called=bool(self._calls)))


def shaped(outcome: Outcome, manner: Manner) -> Outcome:
    """Return a whole answer as its events would have been shaped."""
    content = tuple(
        block for index, given in enumerate(outcome.content) for block in _block(index, given, manner)
    )
    called = any(isinstance(block, ToolCall) for block in content)
    error = None if outcome.status == "complete" else as_told(outcome.error)
    return replace(
        outcome,
        content=content,
        stop=manner.stop(outcome.stop, called=called),
        usage=manner.usage(outcome.usage),
        error=error,
    )


def unended(call: Call) -> ToolCall:
    """Return the call as far as it came."""
    return ToolCall(
        id=call.id,
        name=call.name,
        arguments=None,
        arguments_text=call.text or None,
        complete=False,
        executor="client",
    )


def _block(index: int, block: Block, manner: Manner) -> Iterator[Block]:
    match block:
        case Thinking():
            if manner.thinking:
                yield block
        case ToolCall():
            if block.executor == "client":
                yield _whole(index, block, manner)
        case _:
            yield block


def _whole(index: int, call: ToolCall, manner: Manner) -> ToolCall:
    call = replace(call, id=manner.call_id(index, call.id))
    if not (call.complete or manner.whole_calls):
        return call
    value = manner.arguments(call.arguments_text, call.arguments)
    return replace(call, arguments=value, complete=True)
