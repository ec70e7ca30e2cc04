"""Tell the claimed capabilities whose values were compared from those that the answer leaves out. Pure.

Absent keys are not judged, so an adapter that never reports a claimed value would pass every trial. Each
trial therefore records what it compared, and `run/claims.py` decides at the end of the run. Only a case that
expects a value counts: tags say what a case is about, not what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from streamconform.judge.compare import BLOCK_MISSING, format_block_path, get_required_claim, sum_cache_usage
from streamconform.judge.match import matches_leaf
from streamconform.model.capability import Capability, Claims
from streamconform.model.case import Expectation, ExpectedBlock
from streamconform.model.outcome import Outcome, Text, Thinking, ToolCall
from streamconform.model.verdict import Check


class ComparedClaims(Struct, frozen=True):
    """The claimed capabilities of which a trial expects a value, in alphabetical order."""

    compared: tuple[Capability, ...] = ()
    """Those with at least one compared value."""
    uncompared: tuple[Capability, ...] = ()
    """The others: the answer leaves out the keys or the whole group."""


NOTHING_COMPARED: Final = ComparedClaims()


def find_compared(
    expect: Expectation, outcome: Outcome, claims: Claims, checks: Sequence[Check], *, raised: bool
) -> ComparedClaims:
    """Return the claims that `checks` compared, and those that `outcome` leaves out.

    `raised` says that the library raised an exception, which explains a group that is left out.
    """
    found = [*_find_in_fields(expect, outcome, claims, checks, raised=raised)]
    found += _find_in_blocks(expect, outcome, claims, checks)
    return _sort_claims(found)


def join_claims(parts: Iterable[ComparedClaims]) -> ComparedClaims:
    """Return the claims of several answers as those of one."""
    return _sort_claims(
        (claim, is_compared)
        for part in parts
        for claims, is_compared in ((part.compared, True), (part.uncompared, False))
        for claim in claims
    )


def _sort_claims(found: Iterable[tuple[Capability, bool]]) -> ComparedClaims:
    pairs = {*found}
    compared = {claim for claim, is_compared in pairs if is_compared}
    return ComparedClaims(
        tuple(sorted(compared)), tuple(sorted({claim for claim, _ in pairs if claim not in compared}))
    )


def _find_in_fields(
    expect: Expectation, outcome: Outcome, claims: Claims, checks: Sequence[Check], *, raised: bool
) -> Iterator[tuple[Capability, bool]]:
    """Yield the capability of each field that must have a value, and whether its value was compared."""
    paths = {check.path for check in checks}
    for path, leaf in sum_cache_usage(expect.fields, claims).items():
        capability = get_required_claim(path)
        if capability is None or capability not in claims or matches_leaf(leaf, None):
            continue
        if path.partition(".")[0] in outcome.omitted:
            # An answer that reports an unexpected error has no reason to contain the group, and fails anyway.
            if not raised and matches_leaf(expect.fields["status"], outcome.status):
                yield capability, False
        elif path in paths:
            yield capability, True
        elif path in outcome.absent:
            yield capability, False


def _find_in_blocks(
    expect: Expectation, outcome: Outcome, claims: Claims, checks: Sequence[Check]
) -> Iterator[tuple[Capability, bool]]:
    """Yield `signatures` if a block must have one, and whether one was compared."""
    # The content of a broken stream is compared without its signatures.
    if "signatures" not in claims or expect.partial is not None:
        return
    types = {block.type for block in expect.content or () if _must_be_signed(block)}
    if not types:
        return
    names = tuple(f".{format_block_path(type_, 'signature')}" for type_ in types)
    if any(check.path.endswith(names) and _compares_value(check) for check in checks):
        yield "signatures", True
    elif any(
        "signature" in block.absent and block.type in types and _is_judged(block, claims)
        for block in outcome.content
        if isinstance(block, Text | Thinking | ToolCall)
    ):
        yield "signatures", False


def _compares_value(check: Check) -> bool:
    """Return whether a check compares a value: not if the block is missing, or was rightly left out."""
    left_out = check.verdict == "pass" and check.got is None
    return check.expected is not None and check.message != BLOCK_MISSING and not left_out


def _must_be_signed(block: ExpectedBlock) -> bool:
    leaf = block.fields.get("signature")
    return leaf is not None and not matches_leaf(leaf, None)


def _is_judged(block: Text | Thinking | ToolCall, claims: Claims) -> bool:
    match block:
        case Thinking():
            return "thinking" in claims
        case ToolCall(executor=executor):
            return ("provider_tools" if executor == "provider" else "tool_calls") in claims
        case Text():
            return True
