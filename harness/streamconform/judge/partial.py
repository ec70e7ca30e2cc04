"""Compare the content of a broken stream with the beginning of the complete content. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from streamconform.judge import align
from streamconform.judge.compare import (
    MARKED_UNFINISHED,
    add_mislabeled_calls,
    check_call_order,
    check_leaf,
    check_rule,
    format_block_path,
    format_call,
    warn_of_signatures,
)
from streamconform.judge.match import matches_leaf
from streamconform.model.capability import Claims
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import Literally, PrefixOf
from streamconform.model.outcome import Block, BlockType, Text, Thinking, ToolCall
from streamconform.model.trial import lower_level
from streamconform.model.verdict import Check

UNKNOWN_BLOCKS: Final = "blocks that are not in the complete stream: "
SPLIT_BLOCKS: Final = "blocks that are only parts of one in the complete stream: "
MOVED_BLOCKS: Final = "blocks that are at another place in the complete stream: "
"""The beginnings of the messages about blocks without a counterpart, before their types."""
MAY_BE_CUT: Final = "the arguments may have been cut"
"""The beginning of the message about arguments that may be incomplete."""
_MAX_CALLS: Final = 3
"""The maximum number of calls to show in a message."""
_MAX_TYPES: Final = 12
"""The maximum number of block types to list in a message."""
_PREFIX_FIELDS: Final = frozenset({"text", "name", "arguments_text"})
"""Fields that may be received partially.

A thought's signature is not judged: OpenAI sends a provisional one at the start of an item, and a broken
answer is not sent back.
"""


def compare_partial(
    expect: Expectation,
    content: Sequence[Block],
    claims: Claims,
    level: Level,
    *,
    ordered: bool = True,
    find_id: align.FindId = align.find_no_id,
) -> Iterator[Check]:
    """Yield checks on the content of a stream that broke at the position in `expect.partial`.

    Blocks may be missing. Each received block must match one in the whole stream, in order, and its texts
    must be prefixes. An executable call must have its complete arguments, and no more of the client's calls
    may be executable than had ended. Text that had arrived should be kept.
    """
    if expect.content is None or expect.partial is None:
        return
    # A client that raises while it builds a call loses the call, and the texts around it become neighbors.
    has_calls = any(isinstance(block, ToolCall) for block in content)
    left_out = ("other",) if has_calls else ("other", "tool_call")
    whole = [block for block in expect.content if block.type not in left_out]
    calls = [block for block in expect.content if block.type == "tool_call"]
    aligned = align.align(whole, content, claims, calls, ordered=ordered, find_id=find_id)
    expected, got = aligned.expected, aligned.received
    yield from check_call_order(aligned, level)
    pairs = align.pair_blocks(expected, got)
    mislabeled = [*align.find_mislabeled_calls(expect.content, expected, got)]
    yield _check_length(aligned, pairs, mislabeled, level)
    executable = _list_executable(got, mislabeled)
    ended = expect.partial.calls_ended
    may_be_cut = len(executable) > ended
    for i, (block, position) in enumerate(zip(expected, pairs, strict=True)):
        if position is not None:
            checks = _compare_block(i, block, got[position], level)
            yield from map(_hide_unknown_arguments, checks) if may_be_cut else checks
    yield check_rule(
        "content.complete_calls",
        level,
        _explain_executable(executable, ended) if may_be_cut else None,
        expected=ended,
        got=len(executable),
    )
    yield _check_kept_text(got, expect.partial.text_arrived, lower_level(level, "should"))


def _check_length(
    aligned: align.Aligned, pairs: Sequence[int | None], mislabeled: Sequence[ToolCall], level: Level
) -> Check:
    """Return the check that each received block has a counterpart among the expected ones."""
    expected, got = aligned.expected, aligned.received
    paired = frozenset(pairs)
    unpaired = [block for position, block in enumerate(got) if position not in paired]
    missing = [block for block, position in zip(expected, pairs, strict=True) if position is None]
    message = add_mislabeled_calls(_explain_unpaired(unpaired, missing, expected, got), mislabeled)
    check = check_rule("content.length", level, message, expected=len(expected), got=len(got))
    return warn_of_signatures(check, aligned.moved)


def _list_executable(got: Sequence[Block], mislabeled: Sequence[ToolCall]) -> list[ToolCall]:
    """Return the client's calls that are reported as executable.

    Only their number is compared: `Ending` counts the client's calls that had ended, but cannot identify them
    without a parser. A provider's own call is not run again. One that is `mislabeled` as the client's has an
    end of its own, and is another bug.
    """
    return [
        block
        for block in got
        if isinstance(block, ToolCall)
        and block.executor == "client"
        and block.is_executable
        and not any(block is call for call in mislabeled)
    ]


def _check_kept_text(got: Sequence[Block], arrived: int, level: Level) -> Check:
    """Return the check that the text that had arrived is kept; `arrived` is its length."""
    kept = sum(len(block.text) for block in got if isinstance(block, Text))
    message = f"{arrived} characters of text had arrived before the break, but the content has only {kept}"
    return check_rule("content.kept", level, message if kept < arrived else None, expected=arrived, got=kept)


def _explain_unpaired(
    unpaired: Sequence[Block],
    missing: Sequence[ExpectedBlock],
    expected: Sequence[ExpectedBlock],
    got: Sequence[Block],
) -> str | None:
    """Return a message about the received blocks without a counterpart, or None if there are none.

    `missing` are the expected blocks without a counterpart.
    """
    types = [block.type for block in unpaired]
    split = {type_ for type_ in dict.fromkeys(types) if _is_split(type_, expected, got)}
    added = [block for block in unpaired if block.type not in split]
    if added and all(_is_elsewhere(block, missing) for block in added):
        return f"{MOVED_BLOCKS}{', '.join(block.type for block in added[:_MAX_TYPES])}"
    if added:
        return f"{UNKNOWN_BLOCKS}{', '.join(block.type for block in added[:_MAX_TYPES])}"
    return f"{SPLIT_BLOCKS}{', '.join(types[:_MAX_TYPES])}" if types else None


def _is_elsewhere(block: Block, missing: Sequence[ExpectedBlock]) -> bool:
    """Return whether one of the `missing` blocks of the complete stream is this block, or more of it."""
    names = [name for name in ("id", "text") if getattr(block, name, None)]
    return bool(names) and any(
        isinstance(leaf := other.fields.get(names[0]), Literally)
        and isinstance(leaf.value, str)
        and leaf.value.startswith(getattr(block, names[0]))
        for other in missing
        if other.type == block.type
    )


def _is_split(type_: BlockType, expected: Sequence[ExpectedBlock], got: Sequence[Block]) -> bool:
    """Return whether the texts of the blocks of this type, joined, are a prefix of the complete text."""
    leaves = [block.fields.get("text") for block in expected if block.type == type_]
    texts = [leaf.value for leaf in leaves if isinstance(leaf, Literally) and isinstance(leaf.value, str)]
    if not texts or len(texts) < len(leaves):
        return False
    received = [block.text for block in got if isinstance(block, Text | Thinking) and block.type == type_]
    return len(received) > 1 and "".join(texts).startswith("".join(received))


def _explain_executable(calls: Sequence[ToolCall], ended: int) -> str:
    """Return the message about more executable `calls` than had `ended` when the stream broke."""
    names = ", ".join(map(format_call, calls[:_MAX_CALLS])) + (", …" if len(calls) > _MAX_CALLS else "")
    if len(calls) == 1:
        return f"the call had not ended when the stream broke; it {MARKED_UNFINISHED}; got {names}"
    return (
        f"{len(calls)} calls are reported as executable, but only {ended} had ended when the stream broke;"
        f" each of the others {MARKED_UNFINISHED}; got {names}"
    )


def _hide_unknown_arguments(check: Check) -> Check:
    """Return a failed check on the arguments of a call without the expected value.

    If more calls are executable than had ended, this call may be the one whose arguments were cut, and nobody
    can know from a cut stream how they would have ended.
    """
    if check.verdict == "pass" or not check.path.endswith(".tool_call.arguments"):
        return check
    message = f"{MAY_BE_CUT}; a call that had not ended {MARKED_UNFINISHED}"
    return replace(check, expected=None, message=message)


def _compare_block(i: int, expected: ExpectedBlock, got: Block, level: Level) -> Iterator[Check]:
    got_executable = isinstance(got, ToolCall) and got.is_executable
    complete = expected.fields.get("complete")
    expects_complete = complete is not None and matches_leaf(complete, got=True)
    for name, leaf in expected.fields.items():
        value = getattr(got, name)
        path = f"content.{i}.{format_block_path(expected.type, name)}"
        if name in _PREFIX_FIELDS:
            # A field is null if nothing of it had arrived.
            if value is not None and isinstance(leaf, Literally) and isinstance(leaf.value, str):
                yield check_leaf(path, PrefixOf(leaf.value), value, level)
        # A truncated call should have null arguments or be marked as incomplete.
        elif name == "arguments" and got_executable and expects_complete:
            yield check_leaf(path, leaf, value, level)
