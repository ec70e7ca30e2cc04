"""The accumulator shared by all decoders: they report what arrived, and it builds the events and the outcome.

A decoder identifies each block by a slot (the API's index, an id, or any hashable value), and stores no text,
usage or status itself. This module contains the rules common to all APIs; `metering` contains those for
usage, and `ending` those for the stop reason:

- A block gets its position in the content when it starts, and the position never changes. Blocks may
  interleave.
- A delta for a slot that was never started starts a text, thinking or refusal block there. A delta for a slot
  that has ended, or that contains another kind of block, is ignored, as is a fragment without a call.
- If an ended call's text cannot be parsed, its end event is held back until the stop reason is known.
- If an API repeats a block's complete text, the block gets the part that its deltas omitted. Emitted events
  cannot be retracted, so prose stays as streamed even if the complete text contradicts it. A call takes its
  arguments from the repeated text, and only its `arguments_text` stays as streamed.
- The status is set once, by the first of `complete`, `fail` and `end_of_file`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from streamconform_reference.decoding.blocks import CallBlock, CallIds, GrowingBlock, OtherBlock, ProseBlock
from streamconform_reference.decoding.ending import NO_STOP, compute_stop, find_held_calls
from streamconform_reference.decoding.metering import Meter
from streamconform_reference.events import Done, Event, Failed, ProseDelta, ProseStart, ToolCallDelta
from streamconform_reference.outcome import (
    Citation,
    Error,
    Executor,
    Json,
    Outcome,
    ProseKind,
    Status,
    Stop,
    StopReason,
    Usage,
)
from streamconform_reference.pricing import Billing, Pricing


class Assembler:
    """Builds one answer. Decoders may set `model`, `response_id`, `continuation` and `echo` at any time."""

    def __init__(self, pricing: Pricing | None = None) -> None:
        """Start an empty answer; without prices, its cost stays None."""
        self.model: str | None = None
        self.response_id: str | None = None
        self.continuation: str | None = None
        self.echo: Json = {}
        self.ended = False
        """Whether the status is final. Only this class sets it."""
        self._begun = False
        self._events: list[Event] = []
        self._blocks: list[GrowingBlock] = []
        self._slots: dict[Hashable, GrowingBlock] = {}
        self._ids = CallIds()
        self._meter = Meter(pricing)
        self._reported_stop = NO_STOP  # the stop reason as the API reported it
        self._status: Status | None = None
        self._error: Error | None = None

    # State that decoders read

    def take_events(self) -> list[Event]:
        """Return the events since the previous call to this method."""
        events, self._events = self._events, []
        return events

    def usage(self) -> Usage | None:
        """Return the usage so far, or None before the first report."""
        return self._meter.usage()

    def snapshot(self) -> Outcome:
        """Return the answer so far; until it ends, the status is `incomplete`."""
        return Outcome(
            status=self._status or "incomplete",
            content=tuple(block.value() for block in self._blocks),
            stop=compute_stop(self._status, self._reported_stop, self._blocks),
            usage=self.usage(),
            cost=self._meter.cost,
            error=self._error,
            model=self.model,
            response_id=self.response_id,
            continuation=self.continuation,
            echo=self.echo or None,
        )

    # Blocks.

    def begin(self, *, model: str | None, response_id: str | None) -> None:
        """Start an answer. A second start appends a new answer to the first.

        The content stays, as do the id and model unless the new answer has its own; the slots, the stop
        reason and the usage are reset. Open blocks of the first answer never end.
        """
        # A live stream cannot retract the blocks that it has shown, so they stay; ending them would claim
        # that their text or arguments were complete.
        if self._begun:
            self._slots = {}
            self._reported_stop = NO_STOP
            self._meter = self._meter.make_empty()
        self._begun = True
        self.model = model or self.model
        self.response_id = response_id or self.response_id

    def start(self, slot: Hashable, kind: ProseKind, text: str = "", *, phase: str | None = None) -> None:
        """Start a text, thinking or refusal block; an open block in the same slot never ends."""
        block = ProseBlock(position=len(self._blocks), kind=kind, phase=phase)
        self._place(slot, block)
        self._events.append(ProseStart(block.position, kind, phase))
        self.add(slot, kind, text)

    def add(self, slot: Hashable, kind: ProseKind, text: str) -> None:
        """Append to a text, thinking or refusal block; start one if the slot was never started."""
        if not text:
            return
        block = self._slots.get(slot)
        if block is None:
            self.start(slot, kind, text)
        elif block.kind == kind and block.open and isinstance(block, ProseBlock):
            # Empty if the text ends with half a surrogate pair, whose other half may come with the next
            # delta.
            piece = block.fragments.add(text)
            if piece:
                self._events.append(ProseDelta(block.position, kind, piece))

    def sign(self, slot: Hashable, signature: str, *, redacted: bool = False, replaces: bool = False) -> None:
        """Append to the signature of a thinking block, or replace it; start one if the slot is unused."""
        if slot not in self._slots:
            self.start(slot, "thinking")
        block = self._slots[slot]
        if isinstance(block, ProseBlock) and block.kind == "thinking" and block.open:
            before = "" if replaces else block.signature or ""
            block.signature = (before + signature) or None
            block.redacted = block.redacted or redacted

    def sign_content(self, slot: Hashable, signature: str) -> None:
        """Set the signature of the text or call in the slot; an empty signature changes nothing.

        A signature that follows a call's end event is ignored, because that event already reported the
        complete call.
        """
        block = self._slots.get(slot)
        if not signature:
            return
        if (isinstance(block, CallBlock) and not block.complete) or (
            isinstance(block, ProseBlock) and block.kind == "text"
        ):
            block.signature = signature

    def keep(self, slot: Hashable, members: Json) -> None:
        """Add members that the next request must send back with the text, thinking or call in the slot."""
        block = self._slots.get(slot)
        if members and isinstance(block, ProseBlock | CallBlock):
            block.echo = block.echo | members

    def cite(self, slot: Hashable, citations: Iterable[Citation], *, replaces: bool = False) -> None:
        """Append to a text's citations, or replace them; start a text if the slot was never started.

        A citation may follow the end of its text.
        """
        if slot not in self._slots:
            self.start(slot, "text")
        block = self._slots[slot]
        if isinstance(block, ProseBlock) and block.kind == "text":
            block.citations = [*([] if replaces else block.citations), *citations]

    def set_phase(self, slot: Hashable, phase: str) -> None:
        """Set the phase of the text in the slot; an empty phase changes nothing."""
        block = self._slots.get(slot)
        if phase and isinstance(block, ProseBlock) and block.kind == "text":
            block.phase = phase

    def start_call(
        self,
        slot: Hashable,
        *,
        id: str | None,  # noqa: A002 - the field name in every API
        name: str,
        executor: Executor = "client",
        initial_arguments: Any = None,
        free_text: bool = False,
        announced: bool = True,
    ) -> None:
        """Start a tool call; `initial_arguments` are the arguments in its start frame, if any.

        With `free_text`, the arguments are the text itself, not JSON. With `announced=False`, the call takes
        its position now, but its start event waits for `announce_call` or the call's end, so that its id and
        name can still arrive.
        """
        call = CallBlock(
            position=len(self._blocks),
            ids=self._ids,
            executor=executor,
            initial_arguments=initial_arguments,
            free_text=free_text,
        )
        self._place(slot, call)
        call.describe(id, name)
        if announced:
            self._events += call.announce()

    def describe_call(
        self,
        slot: Hashable,
        *,
        id: str | None = None,  # noqa: A002 - the field name in every API
        name: str = "",
        free_text: bool = False,
    ) -> None:
        """Set the id (the first one wins) or the name of a call that has not been announced yet."""
        block = self._slots.get(slot)
        if isinstance(block, CallBlock) and not block.announced:
            block.describe(id, name)
            block.free_text = block.free_text or free_text

    def announce_call(self, slot: Hashable) -> None:
        """Emit the start event of a call, which makes its id and name final."""
        block = self._slots.get(slot)
        if isinstance(block, CallBlock) and not block.announced:
            self._events += block.announce()

    def add_arguments(self, slot: Hashable, fragment: str) -> None:
        """Append a fragment to a call's arguments text."""
        block = self._slots.get(slot)
        if not isinstance(block, CallBlock) or not block.open:
            return
        block.has_fragments = True
        piece = block.fragments.add(fragment) if fragment else ""
        if piece and block.announced:
            self._events.append(ToolCallDelta(block.position, piece))

    def call(self, slot: Hashable) -> CallBlock:
        """Return the call in the slot, for reading only. Raises `KeyError` if the slot has no call."""
        block = self._slots.get(slot)
        if not isinstance(block, CallBlock):
            raise KeyError(slot)
        return block

    def text(self, slot: Hashable) -> str:
        """Return the text so far in the slot's block: its prose or, for a call, its arguments."""
        block = self._slots.get(slot)
        return "" if block is None or isinstance(block, OtherBlock) else block.fragments.text()

    def settle(self, slot: Hashable, kind: ProseKind, whole: str) -> None:
        """Given the complete text of a prose block, append the part that the deltas omitted."""
        block = self._slots.get(slot)
        if block is None:
            self.add(slot, kind, whole)
        # A closed block stays unchanged, because its end event has already reported the complete text.
        elif isinstance(block, ProseBlock) and block.open:
            self.add(slot, kind, block.fragments.find_missing(whole) or "")

    def settle_arguments(self, slot: Hashable, whole: Any) -> None:
        """Set the complete arguments of a call: a value, or text whose missing part is appended."""
        block = self._slots.get(slot)
        if not isinstance(block, CallBlock) or not block.open:
            return
        if not isinstance(whole, str):
            block.initial_arguments = whole
            return
        missing = block.fragments.find_missing(whole)
        block.final_text = whole if missing is None else None
        self.add_arguments(slot, missing or "")

    def add_other(self, data_kind: str, data: Any, *, slot: Hashable = None) -> None:
        """Append a block of type `other`; if it has a slot, its data can be replaced until it ends."""
        block = OtherBlock(position=len(self._blocks), data_kind=data_kind, data=data)
        self._blocks.append(block)
        if slot is not None:
            self._slots[slot] = block

    def replace_other(self, slot: Hashable, data: Any) -> None:
        """Replace the data of the open `other` block in the slot, if there is one."""
        block = self._slots.get(slot)
        if isinstance(block, OtherBlock) and block.open:
            block.data = data

    def other(self, slot: Hashable) -> Any:
        """Return the data of the open `other` block in the slot, or None if there is none."""
        block = self._slots.get(slot)
        return block.data if isinstance(block, OtherBlock) and block.open else None

    def end(self, slot: Hashable) -> None:
        """End the open block in the slot, if there is one."""
        block = self._slots.get(slot)
        if block is not None and block.open:
            self._events += block.end()

    def end_all(self, *, calls: bool) -> None:
        """End every open block, but tool calls only if `calls` is set."""
        for block in self._blocks:
            if block.open and (calls or not isinstance(block, CallBlock)):
                self._events += block.end()

    # Usage, stop reason and end

    def report_usage(self, counts: Mapping[str, int | None], billing: Billing | None = None) -> None:
        """Merge one usage report, keyed by `Usage` fields."""
        update = self._meter.report(counts, billing)
        if update:
            self._events.append(update)

    def stop(
        self, reason: StopReason, raw: str | None, *, sequence: str | None = None, details: Any = None
    ) -> None:
        """Set the stop reason; the last one wins."""
        self._reported_stop = Stop(reason, raw, sequence, details)

    def complete(self) -> None:
        """Complete the answer, because the API sent its terminal event."""
        if self._settle("complete"):
            self._events += [call.release() for call in find_held_calls(self._reported_stop, self._blocks)]
            self._events.append(Done(compute_stop(self._status, self._reported_stop, self._blocks)))

    def fail(self, error: Error) -> None:
        """End the answer with an error; earlier content stays."""
        if self._settle("error"):
            self._error = error
            if error.details:
                self._reported_stop = replace(self._reported_stop, details=error.details)
            self._events.append(Failed("error", error))

    def end_of_file(self) -> None:
        """Handle the end of the body; an answer without a terminal event is incomplete."""
        if self._settle("incomplete"):
            self._events.append(Failed("incomplete", None))

    # Internals.

    def _place(self, slot: Hashable, block: GrowingBlock) -> None:
        self._blocks.append(block)
        self._slots[slot] = block

    def _settle(self, status: Status) -> bool:
        if self._status is not None:
            return False
        for block in self._blocks:
            self._events += block.flush(whole=status == "complete")
        self._status = status
        self.ended = True
        return True
