"""The one accumulator: a decoder says what came, events and the outcome come out.

A decoder names each block by the slot in which its api keeps it (an index, an id, any hashable
value) and holds no text, usage or status itself. The rules that all apis share live here:

- The position of a block in the content is that of its start and never changes. Blocks may
  interleave.
- A delta for a slot that never began begins a text, thinking or refusal block there. A delta for a
  slot that has ended, or that holds another kind of block, is ignored, and so is a fragment without
  a call.
- The end of a call whose text does not parse is held until the stop reason is known.
- Of each usage field the last report wins; null never erases.
- The status is settled once, by `complete`, `fail` or `end_of_file`; the first of them wins.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from .blocks import CallBlock, GrowingBlock, OtherBlock, ProseBlock
from .events import (
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
from .outcome import (
    Cost,
    Error,
    Executor,
    Outcome,
    ProseKind,
    Status,
    Stop,
    StopReason,
    Thinking,
    Usage,
)
from .pricing import Pricing

_TRUNCATING: Final = frozenset({"length", "content_filter"})


class Assembler:
    """Builds one answer. `model` and `response_id` may be set at any time."""

    def __init__(self, pricing: Pricing | None = None) -> None:
        """Begin an empty answer; without prices its cost stays None."""
        self.model: str | None = None
        self.response_id: str | None = None
        self._pricing = pricing
        self._begun = False
        self._events: list[Event] = []
        self._blocks: list[GrowingBlock] = []
        self._slots: dict[Hashable, GrowingBlock] = {}
        self._ids: dict[str, int] = {}
        self._reason: StopReason | None = None
        self._raw_reason: str | None = None
        self._counts: dict[str, int] = {}
        self._service_tier: str | None = None
        self._apart: tuple[Usage, ...] = ()
        self._cost: Cost | None = None
        self._status: Status | None = None
        self._error: Error | None = None

    # What the decoder reads.

    @property
    def ended(self) -> bool:
        """Whether the status is settled."""
        return self._status is not None

    def take_events(self) -> list[Event]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def usage(self) -> Usage | None:
        """Return the usage so far, None before the first report."""
        return Usage(**self._counts) if self._counts else None

    def snapshot(self) -> Outcome:
        """Return the answer so far; before its end the status is incomplete."""
        return Outcome(
            status=self._status or "incomplete",
            content=tuple(block.value() for block in self._blocks),
            stop=self._stop(),
            usage=self.usage(),
            cost=self._cost,
            error=self._error,
            model=self.model,
            response_id=self.response_id,
        )

    # Blocks.

    def begin(self, *, model: str | None, response_id: str | None) -> None:
        """Take the head of an answer. A second head begins a new answer behind the first.

        The content stays, and so do id and model where the new head has none; slots, stop reason
        and usage are forgotten. Blocks that are open never end, so nothing of two answers is mixed.
        """
        if self._begun:
            self._slots = {}
            self._reason = self._raw_reason = self._service_tier = self._cost = None
            self._counts, self._apart = {}, ()
        self._begun = True
        self.model = model or self.model
        self.response_id = response_id or self.response_id

    def start(self, slot: Hashable, kind: ProseKind, text: str = "") -> None:
        """Begin a block of text, thinking or refusal; one still open in the slot stays unended."""
        block = ProseBlock(position=len(self._blocks), kind=kind)
        self._place(slot, block)
        self._events.append(ProseStart(block.position, kind))
        self.add(slot, kind, text)

    def add(self, slot: Hashable, kind: ProseKind, text: str) -> None:
        """Append to a block of text, thinking or refusal, which begins if its slot never did."""
        if not text:
            return
        block = self._slots.get(slot)
        if block is None:
            self.start(slot, kind, text)
        elif block.kind == kind and block.open and isinstance(block, ProseBlock):
            piece = block.fragments.add(text)
            if piece:
                self._events.append(ProseDelta(block.position, kind, piece))

    def sign(self, slot: Hashable, signature: str, *, redacted: bool = False) -> None:
        """Append to the signature of a thinking block, which begins if its slot never did."""
        if slot not in self._slots:
            self.start(slot, "thinking")
        block = self._slots[slot]
        if isinstance(block, ProseBlock) and block.kind == "thinking" and block.open:
            block.signature = ((block.signature or "") + signature) or None
            block.redacted = block.redacted or redacted

    def start_call(
        self,
        slot: Hashable,
        *,
        id: str | None,  # noqa: A002 - the word of every api
        name: str,
        executor: Executor = "client",
        carried: Any = None,
    ) -> None:
        """Begin a tool call; `carried` is the arguments that came with its start, if any."""
        position = len(self._blocks)
        unique = self._unique(id or f"call_{position}")
        call = CallBlock(position=position, id=unique, name=name, executor=executor, carried=carried)
        self._place(slot, call)
        self._events.append(ToolCallStart(position, unique, name))

    def add_arguments(self, slot: Hashable, fragment: str) -> None:
        """Append a fragment to the text of a call's arguments."""
        block = self._slots.get(slot)
        if not isinstance(block, CallBlock) or not block.open:
            return
        block.fragmented = True
        piece = block.fragments.add(fragment) if fragment else ""
        if piece:
            self._events.append(ToolCallDelta(block.position, piece))

    def put_other(self, what: str, data: Any, *, slot: Hashable = None) -> None:
        """Append a block without a common form; with a slot it can be replaced until it ends."""
        block = OtherBlock(position=len(self._blocks), what=what, data=data)
        self._blocks.append(block)
        if slot is not None:
            self._slots[slot] = block

    def replace_other(self, slot: Hashable, data: Any) -> None:
        """Replace the data of the open block without a common form in the slot, if there is one."""
        block = self._slots.get(slot)
        if isinstance(block, OtherBlock) and block.open:
            block.data = data

    def other(self, slot: Hashable) -> Any:
        """Return the data of the open block without a common form in the slot, else None."""
        block = self._slots.get(slot)
        return block.data if isinstance(block, OtherBlock) and block.open else None

    def end(self, slot: Hashable) -> None:
        """End the block in the slot, if one is open there."""
        block = self._slots.get(slot)
        if block is None or not block.open:
            return
        self._flush(block)
        block.open = False
        if isinstance(block, CallBlock):
            if block.parse():
                self._end_call(block)
        elif isinstance(block, ProseBlock):
            value = block.value()
            if isinstance(value, Thinking):
                self._events.append(ThinkingEnd(block.position, value.text, value.signature, value.redacted))
            elif block.kind != "thinking":
                self._events.append(TextEnd(block.position, block.kind, block.fragments.text()))

    # Usage, stop reason and end.

    def report_usage(
        self,
        counts: Mapping[str, int | None],
        *,
        service_tier: str | None = None,
        apart: tuple[Usage, ...] = (),
    ) -> None:
        """Merge one report, by the field names of `Usage`; `apart` is as in `Pricing.cost`."""
        known = {name: count for name, count in counts.items() if count is not None}
        self._service_tier = service_tier or self._service_tier
        self._apart = apart or self._apart
        if not known:
            return
        self._counts |= known
        usage = Usage(**self._counts)
        if self._pricing:
            self._cost = self._pricing.cost(usage, service_tier=self._service_tier, apart=self._apart)
        self._events.append(UsageUpdate(usage, self._cost))

    def stop(self, reason: StopReason, raw: str | None) -> None:
        """Take the reason why the answer ends; the last one wins."""
        self._reason, self._raw_reason = reason, raw

    def complete(self) -> None:
        """Take the api's terminal signal."""
        if self._settle("complete"):
            self._release_held_calls()
            self._events.append(Done(self._stop()))

    def fail(self, error: Error) -> None:
        """Take an error that ends the answer; what came before stays."""
        if self._settle("error"):
            self._error = error
            self._events.append(Failed("error", error))

    def end_of_file(self) -> None:
        """Take the end of the body; before the terminal signal it leaves the answer incomplete."""
        if self._settle("incomplete"):
            self._events.append(Failed("incomplete", None))

    # Inside.

    def _place(self, slot: Hashable, block: GrowingBlock) -> None:
        self._blocks.append(block)
        self._slots[slot] = block

    def _unique(self, wanted: str) -> str:
        """Return the id itself, or with the first free number from 2 behind it."""
        unique = wanted
        while unique in self._ids:
            self._ids[wanted] += 1
            unique = f"{wanted}_{self._ids[wanted]}"
        self._ids[unique] = 1
        return unique

    def _end_call(self, call: CallBlock) -> None:
        call.complete = True
        self._events.append(ToolCallEnd(call.position, call.value()))

    def _flush(self, block: GrowingBlock) -> None:
        if isinstance(block, OtherBlock):
            return
        half = block.fragments.flush()
        if half and isinstance(block, CallBlock):
            self._events.append(ToolCallDelta(block.position, half))
        elif half and isinstance(block, ProseBlock):
            self._events.append(ProseDelta(block.position, block.kind, half))

    def _settle(self, status: Status) -> bool:
        if self._status is not None:
            return False
        for block in self._blocks:
            self._flush(block)
        self._status = status
        return True

    def _calls(self) -> list[CallBlock]:
        return [block for block in self._blocks if isinstance(block, CallBlock)]

    def _prose(self) -> list[ProseBlock]:
        return [block for block in self._blocks if isinstance(block, ProseBlock)]

    def _release_held_calls(self) -> None:
        """End the calls whose text did not parse, but not the last one of a truncated answer."""
        calls = self._calls()
        if self._reason in _TRUNCATING:
            calls = calls[:-1]
        for call in calls:
            if not call.open and not call.complete:
                self._end_call(call)

    def _stop(self) -> Stop:
        match self._status:
            case "error":
                return Stop("error", self._raw_reason)
            case "incomplete":
                return Stop(None, None)
            case "complete":
                return Stop(self._completed_reason(self._reason or "other"), self._raw_reason)
            case None:
                reason = self._reason and self._completed_reason(self._reason)
                return Stop(reason, self._raw_reason)

    def _completed_reason(self, reason: StopReason) -> StopReason:
        """Return the reason in the light of the content, which apis count in different ways."""
        calls = self._calls()
        if reason == "stop" and any(c.complete and c.executor == "client" for c in calls):
            return "tool_use"
        if reason == "stop" and any(b.kind == "refusal" and b.fragments.text() for b in self._prose()):
            return "refusal"
        if reason == "tool_use" and calls and all(c.executor == "provider" for c in calls):
            return "stop"
        return reason
