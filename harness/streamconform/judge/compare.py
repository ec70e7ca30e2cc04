"""An expectation against an outcome: a check for every leaf that is judged. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.judge import align
from streamconform.judge.match import beyond_safe, fits
from streamconform.model.capability import Capability, Claims
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import Leaf, Literally
from streamconform.model.outcome import Block, Outcome, ToolCall
from streamconform.model.trial import lower_level
from streamconform.model.verdict import Check, CheckVerdict
from streamconform.suite.expectation import shown

FAILED: Final[Mapping[Level, CheckVerdict]] = {"must": "fail", "should": "warn", "may": "may"}
"""What a check that does not hold is called at each level."""

NEEDS: Final[Mapping[str, Capability]] = {
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
"""What must be claimed for a path, or for all paths below it, to be judged."""

BLOCK_NEEDS: Final[Mapping[str, Capability]] = {"thinking.signature": "signatures"}


def compare(expect: Expectation, outcome: Outcome, claims: Claims, level: Level) -> Iterator[Check]:
    """Yield a check for every leaf of `expect` that an implementation with `claims` is judged on.

    The content of a stream that broke is another matter: `judge/partial.py`.
    """
    for path, leaf in expect.fields.items():
        need = NEEDS.get(path) or NEEDS.get(path.partition(".")[0])
        if need is None or need in claims:
            yield check(path, leaf, field(outcome, path), level)
    if expect.content is None or expect.partial is not None:
        return
    named = align.named_kinds(expect.content)
    wanted = align.expected_blocks(expect.content, claims)
    got = align.got_blocks(outcome.content, claims, named)
    if len(wanted) == len(got):
        yield Check(path="content.length", level=level, verdict="pass")
    else:
        yield Check(
            path="content.length",
            level=level,
            verdict=FAILED[level],
            expected=len(wanted),
            got=len(got),
            message=f"expected {_types(wanted)}, got {_types(got)}",
        )
    for i, (block, at) in enumerate(zip(wanted, align.pair(wanted, got), strict=True)):
        unfinished = _unfinished(block, None if at is None else got[at])
        for name, leaf in block.fields.items():
            path = block_path(block.type, name)
            need = BLOCK_NEEDS.get(path)
            if not (unfinished and name == "arguments") and (need is None or need in claims):
                yield check(
                    f"content.{i}.{path}", leaf, _block_field(got, at, name), level, absent=at is None
                )


def check(path: str, leaf: Leaf, got: Any, level: Level, *, absent: bool = False) -> Check:
    """Return the check of one leaf; `absent` says that the block it belongs to did not come at all."""
    if isinstance(leaf, Literally) and beyond_safe(leaf.value):
        level = lower_level(level, "should")
    holds = not absent and fits(leaf, got, money=path.startswith("cost.") and path != "cost.currency")
    return Check(
        path=path,
        level=level,
        verdict="pass" if holds else FAILED[level],
        expected=shown(leaf),
        got=got,
        message="the block did not come" if absent else None,
    )


def field(outcome: Outcome, path: str) -> Any:
    """Return what stands at `path` (`stop.reason`, `usage.input`, `error`); None where nothing does."""
    group, _, name = path.partition(".")
    value = getattr(outcome, group)
    if group == "usage" and not name:
        buckets = {bucket: getattr(value, bucket) for bucket in value.__slots__}
        return buckets if any(count is not None for count in buckets.values()) else None
    if name:
        return None if value is None else getattr(value, name)
    if group in ("cost", "error") and value is not None:
        return {each: getattr(value, each) for each in value.__slots__}
    return value


def block_path(type_: str, name: str) -> str:
    """Return how a field of a block is named in check paths: `text`, `tool_call.arguments`."""
    return type_ if type_ in align.JOINED else f"{type_}.{name}"


def client_calls(expect: Expectation) -> int:
    """Return how many calls the client is expected to run."""
    client = Literally("client")
    return sum(
        each.type == "tool_call" and each.fields["executor"] == client for each in expect.content or ()
    )


def _unfinished(block: ExpectedBlock, got: Block | None) -> bool:
    """Return whether a call had not ended, so that its arguments are nobody's business."""
    complete = block.fields.get("complete")
    if complete == Literally(value=False):
        return True
    open_ = isinstance(got, ToolCall) and got.complete is False
    return open_ and complete is not None and fits(complete, got=False)


def _block_field(got: list[Block], at: int | None, name: str) -> Any:
    return None if at is None else getattr(got[at], name)


def _types(blocks: list[ExpectedBlock] | list[Block]) -> str:
    shown_types = [block.type for block in blocks[:12]]
    return " ".join(shown_types) + (f" … ({len(blocks)})" if len(blocks) > 12 else "") or "no block"
