"""Compare an outcome with an expectation: one check per judged leaf. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.judge import align
from streamconform.judge.match import has_unsafe_integer, matches_leaf
from streamconform.model.capability import Capability, Claims
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import Leaf, Literally
from streamconform.model.outcome import Block, Outcome, ToolCall
from streamconform.model.trial import lower_level
from streamconform.model.verdict import Check, CheckVerdict
from streamconform.suite.expectation import serialize_leaf

FAILED_VERDICT: Final[Mapping[Level, CheckVerdict]] = {"must": "fail", "should": "warn", "may": "may"}
"""The verdict of a check that does not hold, by level."""

REQUIRED_CLAIMS: Final[Mapping[str, Capability]] = {
    "usage": "usage",
    "usage.input": "usage",
    "usage.output": "usage",
    "usage.reasoning": "usage_details",
    "usage.web_searches": "usage_details",
    "usage.cache_read": "cache_usage",
    "usage.cache_write": "cache_usage",
    "usage.cache_write_1h": "usage_details",
    "stop.raw": "raw_stop",
    "cost": "cost",
    "error": "errors",
}
"""The capability that must be claimed for a path, and all paths below it, to be judged."""

_BLOCK_REQUIRED_CLAIMS: Final[Mapping[str, Capability]] = {"thinking.signature": "signatures"}

BLOCK_MISSING: Final = "content block missing"
"""The message of the checks of a block that is absent from the outcome."""
_MAX_TYPES: Final = 12
"""Block types that a message lists."""


def compare_outcome(expect: Expectation, outcome: Outcome, claims: Claims, level: Level) -> Iterator[Check]:
    """Yield a check for every leaf of `expect` that an implementation with `claims` is judged on.

    The content of a broken stream is left to `compare_partial`.
    """
    for path, leaf in expect.fields.items():
        need = REQUIRED_CLAIMS.get(path) or REQUIRED_CLAIMS.get(path.partition(".")[0])
        if need is None or need in claims:
            yield check_leaf(path, leaf, read_field(outcome, path), level)
    if expect.content is None or expect.partial is not None:
        return
    kinds = align.collect_kinds(expect.content)
    expected = align.normalize_expected(expect.content, claims)
    got = align.normalize_received(outcome.content, claims, kinds)
    message = (
        f"expected {len(expected)} block{'' if len(expected) == 1 else 's'} {_format_types(expected)},"
        f" got {len(got)} {_format_types(got)}"
    )
    yield check_rule(
        "content.length",
        level,
        None if len(expected) == len(got) else message,
        expected=len(expected),
        got=len(got),
    )
    for i, (block, position) in enumerate(zip(expected, align.pair_blocks(expected, got), strict=True)):
        received = None if position is None else got[position]
        unfinished = _is_unfinished(block, received)
        for name, leaf in block.fields.items():
            path = format_block_path(block.type, name)
            need = _BLOCK_REQUIRED_CLAIMS.get(path)
            if (unfinished and name == "arguments") or (need is not None and need not in claims):
                continue
            # A missing block fails each of its leaves, so that check ids do not depend on the outcome.
            value = None if received is None else getattr(received, name)
            yield check_leaf(f"content.{i}.{path}", leaf, value, level, absent=received is None)


def check_leaf(path: str, leaf: Leaf, got: Any, level: Level, *, absent: bool = False) -> Check:
    """Return the check of one leaf; `absent` means that the block it belongs to is missing."""
    # JavaScript cannot hold such an integer, so its loss is at most a warning.
    if isinstance(leaf, Literally) and has_unsafe_integer(leaf.value):
        level = lower_level(level, "should")
    holds = not absent and matches_leaf(leaf, got, money=path.startswith("cost.") and path != "cost.currency")
    return Check(
        path=path,
        level=level,
        verdict="pass" if holds else FAILED_VERDICT[level],
        expected=serialize_leaf(leaf),
        got=got,
        message=BLOCK_MISSING if absent else None,
    )


def check_rule(
    path: str, level: Level, message: str | None, *, expected: Any = None, got: Any = None
) -> Check:
    """Return the check of a rule: failed with `message`, or passed if that is None."""
    if message is None:
        return Check(path=path, level=level, verdict="pass")
    return Check(
        path=path, level=level, verdict=FAILED_VERDICT[level], expected=expected, got=got, message=message
    )


def read_field(outcome: Outcome, path: str) -> Any:
    """Return the value at `path` (`stop.reason`, `usage.input`, `error`), or None if it is absent."""
    group, _, name = path.partition(".")
    value = getattr(outcome, group)
    if group == "usage" and not name:
        buckets = {bucket: getattr(value, bucket) for bucket in value.__slots__}
        return buckets if any(count is not None for count in buckets.values()) else None
    if name:
        return None if value is None else getattr(value, name)
    if group in ("cost", "error") and value is not None:
        return {slot: getattr(value, slot) for slot in value.__slots__}
    return value


def format_block_path(type_: str, name: str) -> str:
    """Return the name of a block's field in check paths: `text`, `tool_call.arguments`."""
    return type_ if type_ in align.JOINED_TYPES else f"{type_}.{name}"


def count_client_calls(expect: Expectation) -> int:
    """Return the number of calls that the client is expected to run."""
    client = Literally("client")
    return sum(
        block.type == "tool_call" and block.fields["executor"] == client for block in expect.content or ()
    )


def _is_unfinished(block: ExpectedBlock, got: Block | None) -> bool:
    """Return whether a call did not end; its arguments are then not checked."""
    complete = block.fields.get("complete")
    if complete == Literally(value=False):
        return True
    is_open = isinstance(got, ToolCall) and got.complete is False
    return is_open and complete is not None and matches_leaf(complete, got=False)


def _format_types(blocks: Sequence[ExpectedBlock] | Sequence[Block]) -> str:
    """Return the types of blocks, abbreviated: `[text, tool_call]`."""
    types = [block.type for block in blocks[:_MAX_TYPES]]
    return f"[{', '.join(types)}{', …' if len(blocks) > _MAX_TYPES else ''}]"
