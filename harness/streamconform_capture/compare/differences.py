"""Find the differences between two outcomes of the same bytes, leaf by leaf. Pure.

The judge does the comparison, with one outcome as the expectation for the other. Between two implementations,
only the capabilities that both claim are compared. Optional values (`arguments_text`, the raw stop reason,
the response's model and id, an error's message) are compared only if both report them.
"""

from __future__ import annotations

from typing import Final

from streamconform.judge.compare import compare_outcome, is_claimed
from streamconform.model.capability import Claims
from streamconform.model.case import Expectation, ExpectedBlock
from streamconform.model.leaf import Leaf, Literally
from streamconform.model.outcome import Block, Other, Outcome, Refusal, Text, Thinking, ToolCall
from streamconform.model.verdict import Check

HIDDEN: Final = frozenset(
    [
        *("stop.raw", "stop.sequence", "stop.details", "model", "response_id", "continuation"),
        *("error.message", "error.status", "arguments_text", "phase"),
    ]
)
"""Leaves that an implementation may omit, identified by the end of their path."""


def find_differences(
    one: Outcome, other: Outcome, claims: Claims, body: bytes, *, same_implementation: bool
) -> tuple[Check, ...]:
    """Return the checks that `other` fails with `one` as the expectation.

    `claims` are the capabilities that both claim; `body` is the recording.
    """
    # The usual case: most deliveries of a stream give the same outcome.
    if same_implementation and one == other:
        return ()
    expect = build_expectation(one, claims, others=same_implementation)
    failed = [each for each in compare_outcome(expect, other, claims, "must") if each.verdict != "pass"]
    return tuple(
        check
        for check in failed
        if (same_implementation or not _may_hide(check)) and not _has_generated_ids(check, body)
    )


def build_expectation(outcome: Outcome, claims: Claims, *, others: bool) -> Expectation:
    """Return the expectation that only `outcome` meets; `others`: whether blocks of type `other` count."""
    fields: dict[str, Leaf] = {
        "status": Literally(outcome.status),
        "stop.reason": Literally(outcome.stop.reason),
        "stop.raw": Literally(outcome.stop.raw),
        "model": Literally(outcome.model),
        "response_id": Literally(outcome.response_id),
        "stop.sequence": Literally(outcome.stop.sequence),
        "stop.details": Literally(outcome.stop.details),
        "continuation": Literally(outcome.continuation),
    }
    for name in outcome.usage.__slots__:
        if is_claimed(f"usage.{name}", claims):
            fields[f"usage.{name}"] = Literally(getattr(outcome.usage, name))
    if outcome.error is None:
        fields["error"] = Literally(None)
    else:
        for name in outcome.error.__slots__:
            fields[f"error.{name}"] = Literally(getattr(outcome.error, name))
    exposed = {path: leaf for path, leaf in fields.items() if path not in outcome.absent}
    blocks = (block for block in outcome.content if others or not isinstance(block, Other))
    return Expectation(tuple(map(_build_block, blocks)), exposed)


def _build_block(block: Block) -> ExpectedBlock:
    names: tuple[str, ...]
    absent: frozenset[str] = getattr(block, "absent", frozenset())
    match block:
        case Text():
            names = ("text", "phase", "signature")
        case Refusal():
            names = ("text",)
        case Thinking():
            names = ("text", "signature", "redacted")
        case ToolCall():
            names = ("id", "name", "arguments", "arguments_text", "complete", "executor", "signature")
        case Other():
            names = ("kind", "data")
    fields = {name: Literally(getattr(block, name)) for name in names if name not in absent}
    return ExpectedBlock(block.type, fields)


def _may_hide(check: Check) -> bool:
    """Return whether an optional value is missing on one side."""
    hidden = check.path in HIDDEN or check.path.rpartition(".")[2] in HIDDEN
    return hidden and (check.expected is None or check.got is None)


def _has_generated_ids(check: Check, body: bytes) -> bool:
    """Return whether both sides made up an id for a call that has none in the recording."""
    ids = (check.expected, check.got)
    return check.path.endswith("tool_call.id") and all(
        isinstance(each, str) and each and each.encode("utf-8", "replace") not in body for each in ids
    )
