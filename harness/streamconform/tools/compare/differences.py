"""Find the differences between two outcomes of the same bytes, leaf by leaf. Pure.

The judge does the comparison, with one outcome as the expectation of the other. Between two implementations,
only the capabilities that both claim are compared, and optional values (`arguments_text`, the raw stop
reason, the response's model and id, an error's message) only if both report them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from streamconform.judge import align
from streamconform.judge.compare import BLOCK_MISSING, compare_outcome, is_claimed
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
"""Leaves, by the end of their path, that an implementation may leave out."""

CLOSED: Final = frozenset(["status", "stop.reason", "executor", "complete", "redacted"])
"""Leaves whose values are words of the normal form, not of the recording."""

INDEX: Final = re.compile(r"\.\d+(?=\.)")


@dataclass(frozen=True, slots=True)
class OutcomeDifference:
    """One leaf that differs between two outcomes."""

    path: str
    """With the block's position."""
    how: str
    """A description that contains no recorded text."""
    check: Check
    """The values."""

    @property
    def kind(self) -> str:
        """Return the path without positions: differences of one kind are one thing to look at."""
        return INDEX.sub(".*", self.path)


def find_differences(
    one: Outcome, other: Outcome, claims: Claims, body: bytes, *, same_implementation: bool
) -> tuple[OutcomeDifference, ...]:
    """Return the differences of `other` from `one`; `claims` are those of both, `body` is the recording."""
    if same_implementation and one == other:
        return ()
    expect = _build_expectation(one, claims, others=same_implementation)
    failed = [each for each in compare_outcome(expect, other, claims, "must") if each.verdict != "pass"]
    count_differs = any(each.path == "content.length" for each in failed)
    found = []
    for check in failed:
        if check.message == BLOCK_MISSING and count_differs:
            continue  # `content.length` already reports it
        if not same_implementation and _may_hide(check):
            continue
        if _has_generated_ids(check, body):
            continue
        how = (
            _describe_blocks(one, other, claims)
            if check.path == "content.length"
            else _describe_change(check)
        )
        found.append(OutcomeDifference(check.path, how, check))
    return _merge_absent(found)


def _build_expectation(outcome: Outcome, claims: Claims, *, others: bool) -> Expectation:
    """Return the expectation that `outcome` fulfils exactly."""
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
    """Return whether both sides generated an id for a call that has none in the recording."""
    ids = (check.expected, check.got)
    return check.path.endswith("tool_call.id") and all(
        isinstance(each, str) and each and each.encode("utf-8", "replace") not in body for each in ids
    )


def _merge_absent(found: list[OutcomeDifference]) -> tuple[OutcomeDifference, ...]:
    """Return `found` with one difference for each block that did not come where it was looked for."""
    seen: set[str] = set()
    kept = []
    for each in found:
        if each.check.message == BLOCK_MISSING:
            block = ".".join(each.path.split(".")[:3])
            if block in seen:
                continue
            seen.add(block)
            each = OutcomeDifference(block, "the blocks come in another order", each.check)  # noqa: PLW2901
        kept.append(each)
    return tuple(kept)


def _describe_blocks(one: Outcome, other: Outcome, claims: Claims) -> str:
    """Return which types of blocks are lacking and which are too many."""
    left, right = (
        Counter(each.type for each in align.normalize_received(outcome.content, claims, frozenset()))
        for outcome in (one, other)
    )
    lacking, more = left - right, right - left
    words = [f"lacks {', '.join(sorted(lacking))}"] if lacking else []
    words += [f"has more {', '.join(sorted(more))}"] if more else []
    return "; ".join(words) or "has other blocks"


def _describe_change(check: Check) -> str:
    one, other = check.expected, check.got
    last = check.path if check.path in CLOSED else check.path.rpartition(".")[2]
    if last in CLOSED:
        return f"{_format_word(one)} -> {_format_word(other)}"
    if one is None or other is None:
        return "null -> a value" if one is None else "a value -> null"
    if isinstance(one, str) and isinstance(other, str):
        return _describe_text_change(one, other)
    if _is_number(one) and _is_number(other):
        return "larger" if other > one else "smaller"
    if type(one) is not type(other):
        return f"{_name_type(one)} -> {_name_type(other)}"
    return "another value"


def _describe_text_change(one: str, other: str) -> str:
    if one.startswith(other):
        return "empty" if not other else "the end is lost"
    if other.startswith(one):
        return "more at the end"
    if one.endswith(other):
        return "the beginning is lost"
    if other.endswith(one):
        return "more at the beginning"
    if one.split() == other.split():
        return "other white space"
    if "\ufffd" in other and "\ufffd" not in one:
        return "characters became U+FFFD"
    return "another text"


def _format_word(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}.get(value, str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case dict():
            return "object"
        case list():
            return "list"
        case str():
            return "text"
        case _:
            return "number"
