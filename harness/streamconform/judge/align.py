"""Both sides' content in the form in which it is compared, and which block stands for which.

Dropped on both sides: `other` (unless the case names its kind), types that are not claimed, text and
refusals that are empty, thinking that shows nothing and carries no signature. Texts (and refusals)
that are then neighbours are one. The rest keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from streamconform.model.capability import Claims
from streamconform.model.case import ExpectedBlock
from streamconform.model.leaf import Leaf, Literally
from streamconform.model.outcome import Block, Other, Refusal, Text, Thinking, ToolCall

JOINED = ("text", "refusal")
NOTHING = Literally(None)
MAX_PAIRS = 250_000
"""Blocks expected times blocks got up to which the best alignment is sought; beyond, by position."""


def expected_blocks(blocks: Iterable[ExpectedBlock], claims: Claims) -> list[ExpectedBlock]:
    """Return the blocks that an implementation with `claims` has to produce."""
    kept = [each for each in blocks if _wanted(each, claims)]
    joined: list[ExpectedBlock] = []
    for type_, group in groupby(kept, key=lambda each: each.type):
        run = list(group)
        if type_ in JOINED and len(run) > 1:
            joined.append(ExpectedBlock(type_, _joined_text(run)))
        else:
            joined += run
    return joined


def got_blocks(blocks: Iterable[Block], claims: Claims, named: frozenset[str | None]) -> list[Block]:
    """Return the blocks that are judged; `named` are the kinds of `other` that the case names."""
    kept = [each for each in blocks if _judged(each, claims, named)]
    joined: list[Block] = []
    for each in kept:
        last = joined[-1] if joined else None
        if isinstance(each, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + each.text)
        elif isinstance(each, Refusal) and isinstance(last, Refusal):
            joined[-1] = Refusal(last.text + each.text)
        else:
            joined.append(each)
    return joined


def named_kinds(blocks: Iterable[ExpectedBlock]) -> frozenset[str | None]:
    """Return the kinds of `other` blocks that a case names."""
    kinds = (each.fields.get("kind") for each in blocks if each.type == "other")
    return frozenset(kind.value for kind in kinds if isinstance(kind, Literally))


def pair(expected: Sequence[ExpectedBlock], got: Sequence[Block]) -> list[int | None]:
    """Return for each expected block the position of the block got that stands for it, or None.

    Where the types agree one to one that is the same position; else the alignment with the most blocks
    of equal type in order, equal names or texts preferred.
    """
    if [each.type for each in expected] == [each.type for each in got]:
        return list(range(len(got)))
    if len(expected) * len(got) > MAX_PAIRS:
        return [i if i < len(got) and got[i].type == each.type else None for i, each in enumerate(expected)]
    rows, columns = len(expected), len(got)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            score = _likeness(expected[i], got[j])
            with_it = best[i + 1][j + 1] + score if score else 0
            best[i][j] = max(with_it, best[i + 1][j], best[i][j + 1])
    pairs: list[int | None] = []
    j = 0
    for i in range(rows):
        while j < columns and best[i][j] == best[i][j + 1]:
            j += 1
        score = _likeness(expected[i], got[j]) if j < columns else 0
        if score and best[i][j] == best[i + 1][j + 1] + score:
            pairs.append(j)
            j += 1
        else:
            pairs.append(None)
    return pairs


def _wanted(block: ExpectedBlock, claims: Claims) -> bool:
    text = block.fields.get("text")
    match block.type:
        case "text":
            return text != Literally("")
        case "refusal":
            return "refusals" in claims and text != Literally("")
        case "thinking":
            signature = block.fields.get("signature", NOTHING)
            signed = "signatures" in claims and signature not in (NOTHING, Literally(""))
            redacted = block.fields.get("redacted") == Literally(value=True)
            return "thinking" in claims and (signed or redacted or text not in (NOTHING, Literally("")))
        case "tool_call":
            provider = block.fields.get("executor") == Literally("provider")
            return ("provider_tools" if provider else "tool_calls") in claims
        case "other":
            return True


def _judged(block: Block, claims: Claims, named: frozenset[str | None]) -> bool:
    match block:
        case Text(text):
            return text != ""
        case Refusal(text):
            return "refusals" in claims and text != ""
        case Thinking(text, signature, redacted):
            signed = "signatures" in claims and bool(signature)
            return "thinking" in claims and (signed or redacted or text != "")
        case ToolCall(executor=executor):
            return ("provider_tools" if executor == "provider" else "tool_calls") in claims
        case Other(kind):
            return kind in named


def _joined_text(run: Sequence[ExpectedBlock]) -> dict[str, Leaf]:
    """Return the joined text as a leaf; none where a matcher is among them, which cannot be joined."""
    texts = [each.fields.get("text") for each in run]
    literals = [text.value for text in texts if isinstance(text, Literally)]
    return {"text": Literally("".join(literals))} if len(literals) == len(texts) else {}


def _likeness(expected: ExpectedBlock, got: Block) -> int:
    if expected.type != got.type:
        return 0
    name = "name" if isinstance(got, ToolCall) else "text"
    wanted = expected.fields.get(name)
    return 3 if isinstance(wanted, Literally) and wanted.value == getattr(got, name, None) else 2
