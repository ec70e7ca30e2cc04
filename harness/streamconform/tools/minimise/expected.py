"""What is expected of a smaller stream: what the reference makes of it, in the shape of a spec."""

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
from streamconform.tools.minimise.failure_signature import leaf
from streamconform.tools.record import draft


@dataclass(frozen=True, slots=True)
class Read:
    """A stream as the reference reads it."""

    observation: Observation
    outcome: Outcome

    @property
    def broken(self) -> bool:
        """Return whether a frame of it is not what its api sends."""
        return self.outcome.error is not None and self.outcome.error.type == "protocol"

    @property
    def calls(self) -> int:
        """Return how many tool calls there are."""
        return sum(isinstance(each, ToolCall) for each in self.outcome.content)

    @property
    def malformed(self) -> int:
        """Return how many calls ended with arguments that do not parse."""
        return sum(
            isinstance(each, ToolCall) and each.complete is True and each.arguments is None
            for each in self.outcome.content
        )

    def allows(self, smaller: Read) -> bool:
        """Return whether `smaller` is an answer like this one: as whole, and no less legal."""
        return (
            smaller.outcome.status == self.outcome.status
            and (self.broken or not smaller.broken)
            and smaller.malformed <= self.malformed
            and not (self.calls and smaller.outcome.stop.reason == "tool_use" and not smaller.calls)
        )


def decode_by_reference(cassette: Cassette, case: Case) -> Read:
    """Return what the reference makes of `cassette`, with the prices of `case`."""
    from streamconform_reference import adapter

    fed = ReferenceInput(
        cassette.api, cassette.status, cassette.headers, (cassette.body,), pricing=case.pricing
    )
    *events, last = adapter(fed)
    return Read(Observation(last["outcome"], events), decode.decode_outcome(last["outcome"]))


def expect(read: Read, body: bytes, case: Case, path: str) -> dict[str, Any]:
    """Return `read` as the `expect` of a spec: what a draft says, and every leaf that `case` judges.

    `path` is the check that fails; blocks say what it is about too, where a draft leaves it out.
    """
    expected = draft.build_expect(read.outcome, body)
    for name in (*case.expect.fields, *([] if path.startswith(("content.", "invariant.")) else [path])):
        group, _, member = name.partition(".")
        if group in ("usage", "cost", "error") and member:
            own = expected.get(group)
            if own is None and group == "error":
                continue
            value = _plain(read_field(read.outcome, name))
            if value is not None or group != "cost":
                expected[group] = {**(own or {}), member: value}
        elif group in ("model", "response_id"):
            expected[group] = read_field(read.outcome, group)
    _with_leaf(expected["content"], read.outcome, *leaf(path))
    return expected


def _with_leaf(entries: list[Mapping[str, Any]], outcome: Outcome, type_: str, name: str) -> None:
    """Add the field `name` of each block of a type to what is expected of it."""
    if type_ not in ("tool_call", "thinking"):
        return
    blocks = align.normalize_received(outcome.content, CAPABILITIES, frozenset())
    for i, (entry, block) in enumerate(zip(entries, blocks, strict=True)):
        if block.type == type_ and hasattr(block, name):
            own = entry[type_] if isinstance(entry[type_], Mapping) else {"text": entry[type_]}
            if not (name == "arguments" and getattr(block, "complete", True) is False) and name != "id":
                entries[i] = {type_: {**own, name: getattr(block, name)}}


def _plain(value: Any) -> Any:
    """Return money as the text that a spec holds."""
    return value if isinstance(value, int | str | bool) or value is None else str(value)
