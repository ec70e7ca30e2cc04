"""Build the expectation for a smaller stream from the reference's outcome.

There is no hand-written expectation for a reduced stream, so the reference supplies one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamconform.adapters.interface import Observation
from streamconform.judge import align, decode
from streamconform.judge.compare import read_field
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import Case
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Outcome, ToolCall
from streamconform.run.blame import ReferenceInput
from streamconform_capture.minimise.failure_signature import parse_content_path
from streamconform_capture.record import draft


@dataclass(frozen=True, slots=True)
class ReferenceReading:
    """The reference's interpretation of a stream."""

    observation: Observation
    outcome: Outcome

    @property
    def broken(self) -> bool:
        """Return whether a frame is invalid in its API."""
        return self.outcome.error is not None and self.outcome.error.type == "protocol"

    @property
    def call_count(self) -> int:
        """Return the number of tool calls."""
        return sum(isinstance(block, ToolCall) for block in self.outcome.content)

    @property
    def malformed_count(self) -> int:
        """Return the number of complete calls whose arguments cannot be parsed."""
        return sum(
            isinstance(block, ToolCall) and block.complete is True and block.arguments is None
            for block in self.outcome.content
        )

    def allows(self, smaller: ReferenceReading) -> bool:
        """Return whether `smaller` has the same status and no new errors."""
        return (
            smaller.outcome.status == self.outcome.status
            and (self.broken or not smaller.broken)
            and smaller.malformed_count <= self.malformed_count
            # Otherwise the search would drop the calls that a stop for tool use announces.
            and not (self.call_count and smaller.outcome.stop.reason == "tool_use" and not smaller.call_count)
        )


def decode_by_reference(cassette: Cassette, case: Case) -> ReferenceReading:
    """Return the reference's interpretation of `cassette`, with the prices of `case`."""
    from streamconform_reference import adapter

    run = ReferenceInput(
        cassette.api,
        cassette.status,
        cassette.headers,
        (cassette.body,),
        pricing=case.pricing,
        stream=case.stream,
    )
    *events, last = adapter(run)
    return ReferenceReading(Observation(last["outcome"], events), decode.decode_outcome(last["outcome"]))


def build_expectation(reading: ReferenceReading, body: bytes, case: Case, path: str) -> dict[str, Any]:
    """Return a spec's `expect`: a draft's fields, and every other field that `case` checks.

    `path` is the failing check; its field is added to blocks if a draft leaves it out.
    """
    expected = draft.build_expect(reading.outcome, body)
    for name in (*case.expect.fields, *([] if path.startswith(("content.", "invariant.")) else [path])):
        group, _, member = name.partition(".")
        if group in ("usage", "cost", "error") and member:
            fields = expected.get(group)
            if fields is None and group == "error":
                continue
            value = _convert_to_plain(read_field(reading.outcome, name))
            if value is not None or group != "cost":
                expected[group] = {**(fields or {}), member: value}
        elif group in ("model", "response_id"):
            expected[group] = read_field(reading.outcome, group)
    _add_block_field(expected["content"], reading.outcome, *parse_content_path(path))
    return expected


def _add_block_field(entries: list[Mapping[str, Any]], outcome: Outcome, type_: str, name: str) -> None:
    """Add the field `name` to the expectation of each block of type `type_`."""
    if type_ not in ("tool_call", "thinking"):
        return
    blocks = align.normalize_received(outcome.content, CAPABILITIES, None)
    for i, (entry, block) in enumerate(zip(entries, blocks, strict=True)):
        if block.type == type_ and hasattr(block, name):
            fields = entry[type_] if isinstance(entry[type_], Mapping) else {"text": entry[type_]}
            # A cut call has no parsed arguments, and the draft already has each id that occurs in the body.
            if not (name == "arguments" and getattr(block, "complete", True) is False) and name != "id":
                entries[i] = {type_: {**fields, name: getattr(block, name)}}


def _convert_to_plain(value: Any) -> Any:
    """Return an amount of money as text, in the form used in specs."""
    return value if isinstance(value, int | str | bool) or value is None else str(value)
