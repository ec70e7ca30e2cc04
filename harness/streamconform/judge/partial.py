"""Compare the content of a broken stream with the beginning of the whole content. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from streamconform.judge import align
from streamconform.judge.compare import check_leaf, check_rule, format_block_path
from streamconform.model.capability import Claims
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import Literally, PrefixOf
from streamconform.model.outcome import Block, ToolCall
from streamconform.model.verdict import Check

_PREFIX_FIELDS: Final = frozenset({"text", "signature", "name", "arguments_text"})
"""Fields that may have been received in part."""


def compare_partial(
    expect: Expectation, content: Sequence[Block], claims: Claims, level: Level
) -> Iterator[Check]:
    """Yield the checks of the content of a stream that broke at the position in `expect.partial`.

    Blocks may be missing. Each received block matches one of the whole stream, in order, and its texts are
    prefixes. A call marked complete has the whole arguments, and no more calls are complete than had ended.
    """
    if expect.content is None or expect.partial is None:
        return
    expected = align.normalize_expected((block for block in expect.content if block.type != "other"), claims)
    got = align.normalize_received(content, claims, frozenset())
    pairs = align.pair_blocks(expected, got)
    unpaired = [block.type for position, block in enumerate(got) if position not in pairs]
    yield check_rule(
        "content.length",
        level,
        f"blocks that are not in the whole stream: {', '.join(unpaired[:12])}" if unpaired else None,
        expected=len(expected),
        got=len(got),
    )
    for i, (block, position) in enumerate(zip(expected, pairs, strict=True)):
        if position is not None:
            yield from _compare_block(i, block, got[position], level)
    complete = sum(isinstance(block, ToolCall) and block.complete is True for block in got)
    ended = expect.partial.calls_ended
    message = f"{complete} calls are marked complete, but only {ended} had ended when the stream broke"
    yield check_rule(
        "content.complete_calls",
        level,
        message if complete > ended else None,
        expected=ended,
        got=complete,
    )


def _compare_block(i: int, expected: ExpectedBlock, got: Block, level: Level) -> Iterator[Check]:
    got_complete = isinstance(got, ToolCall) and got.complete is True
    expects_complete = expected.fields.get("complete") == Literally(value=True)
    for name, leaf in expected.fields.items():
        value = getattr(got, name)
        path = f"content.{i}.{format_block_path(expected.type, name)}"
        if name in _PREFIX_FIELDS:
            if value is not None and isinstance(leaf, Literally) and isinstance(leaf.value, str):
                yield check_leaf(path, PrefixOf(leaf.value), value, level)
        elif name == "arguments" and got_complete and expects_complete:
            yield check_leaf(path, leaf, value, level)
