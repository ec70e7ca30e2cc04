"""What a stream that broke may show: beginnings of the whole, and no call that had not ended. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from streamconform.judge import align
from streamconform.judge.compare import FAILED, block_path, check
from streamconform.model.capability import Claims
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import Literally, PrefixOf
from streamconform.model.outcome import Block, ToolCall
from streamconform.model.verdict import Check

BEGINNINGS: Final = frozenset({"text", "signature", "name", "arguments_text"})
"""Fields of which a part may have come."""


def compare_partial(
    expect: Expectation, content: Sequence[Block], claims: Claims, level: Level
) -> Iterator[Check]:
    """Yield the checks of the content of a stream that broke; `expect.partial` says where.

    Blocks that did not come are not missed. A block that came stands for one of the whole, in order; its
    texts are beginnings; a call that is said to be complete has the arguments of the whole, and no more
    calls are complete than had ended.
    """
    if expect.content is None or expect.partial is None:
        return
    wanted = align.expected_blocks((each for each in expect.content if each.type != "other"), claims)
    got = align.got_blocks(content, claims, frozenset())
    pairs = align.pair(wanted, got)
    strange = [block.type for at, block in enumerate(got) if at not in pairs]
    yield _rule(
        "content.length",
        level,
        f"blocks that the whole stream has not: {' '.join(strange[:12])}" if strange else None,
        expected=len(wanted),
        got=len(got),
    )
    for i, (block, at) in enumerate(zip(wanted, pairs, strict=True)):
        if at is not None:
            yield from _block(i, block, got[at], level)
    done = sum(isinstance(each, ToolCall) and each.complete is True for each in got)
    ended = expect.partial.calls_ended
    words = f"{done} calls are said to be complete; when the stream broke {ended} had ended"
    yield _rule("content.complete_calls", level, words if done > ended else None, expected=ended, got=done)


def _block(i: int, expected: ExpectedBlock, got: Block, level: Level) -> Iterator[Check]:
    complete = isinstance(got, ToolCall) and got.complete is True
    whole = expected.fields.get("complete") == Literally(value=True)
    for name, leaf in expected.fields.items():
        value = getattr(got, name)
        path = f"content.{i}.{block_path(expected.type, name)}"
        if name in BEGINNINGS:
            if value is not None and isinstance(leaf, Literally) and isinstance(leaf.value, str):
                yield check(path, PrefixOf(leaf.value), value, level)
        elif name == "arguments" and complete and whole:
            yield check(path, leaf, value, level)


def _rule(path: str, level: Level, message: str | None, *, expected: Any, got: Any) -> Check:
    if message is None:
        return Check(path=path, level=level, verdict="pass")
    return Check(path=path, level=level, verdict=FAILED[level], expected=expected, got=got, message=message)
