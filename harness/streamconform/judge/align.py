"""Normalize expected and received content blocks, and pair them for comparison. Pure.

Dropped on both sides: `other` blocks (unless the case names their kind), types that are not claimed, empty
text and refusals, thinking without text or signature, and calls of the provider that the case does not name.
Calls that both sides identify by id are paired by id, and the pieces of a thought are joined. Texts (and
refusals) that are then adjacent are joined, unless the case names a phase or signature that distinguishes
them and the implementation exposes it (`find_separators`). A signature ends its text; how many blocks the
signed text is split into is not judged.
The order is kept, unless the API's messages have no order: a chat message has one text, one thinking text and
one list of calls, so its readers cannot know where the text appeared among the calls, or where one thought
ended. In these APIs, thoughts without a signature are also joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from msgspec import Struct

from streamconform.judge.match import matches_leaf
from streamconform.model.capability import Claims
from streamconform.model.case import ExpectedBlock
from streamconform.model.leaf import Digest, Leaf, Literally, Present, digest_text, list_values
from streamconform.model.outcome import Block, BlockType, Other, Refusal, Text, Thinking, ToolCall

B = TypeVar("B")
FindId = Callable[[str], int | None]
"""Returns the position of the first mention of an id or a signature in the stream, or None."""

JOINED_TYPES = ("text", "refusal")
_RANKS: Final[Mapping[BlockType, int]] = {
    "thinking": 0,
    "text": 1,
    "refusal": 2,
    "tool_call": 3,
    "other": 4,
}
"""The order in which block types are compared if the API does not order the blocks in a message."""
_NULL = Literally(None)
SEPARATORS: Final = ("phase", "signature")
"""The fields that may distinguish adjacent texts."""
MAX_PAIRS = 250_000
"""Maximum number of (expected, received) block pairs in the search for the best alignment, which takes one
step per pair; above it, blocks are paired by position."""


class Aligned(Struct, frozen=True):
    """The blocks to compare."""

    expected: list[ExpectedBlock]
    received: list[Block]
    former_ids: tuple[str, ...]
    """The ids of the calls in the order in which they were received, if that is not the stream's order."""
    moved: int
    """The number of signatures that were reported as a block of their own."""


def align(
    expected: Iterable[ExpectedBlock],
    received: Sequence[Block],
    claims: Claims,
    named: Sequence[ExpectedBlock],
    *,
    ordered: bool,
    find_id: FindId,
    separators: Sequence[str] = (),
) -> Aligned:
    """Normalize both sides, and give the received blocks the form and the order of the expected ones."""
    wanted = normalize_expected(
        expected, claims, ordered=ordered, separators=separators, hidden=find_hidden(received)
    )
    blocks = normalize_received(received, claims, named, ordered=ordered, separators=separators)
    blocks, moved = return_signatures(wanted, blocks, find_id)
    blocks, former_ids = order_calls_by_id(wanted, join_split_thoughts(wanted, blocks), find_id)
    return Aligned(wanted, blocks, former_ids, moved)


def find_separators(
    expected: Iterable[ExpectedBlock], received: Iterable[Block], claims: Claims
) -> tuple[str, ...]:
    """Return the fields that separate adjacent texts: those the case names and every text exposes."""
    named = {name for block in expected if block.type == "text" for name in block.fields}
    absent = {name for block in received if isinstance(block, Text) for name in block.absent}
    return tuple(
        name
        for name in SEPARATORS
        if name in named - absent and (name != "signature" or "signatures" in claims)
    )


def find_hidden(received: Iterable[Block]) -> frozenset[str]:
    """Return the optional keys of thinking that an implementation leaves out of all its thinking blocks."""
    thoughts = [block.absent for block in received if isinstance(block, Thinking)]
    return frozenset[str].intersection(*thoughts) if thoughts else frozenset()


def normalize_expected(
    blocks: Iterable[ExpectedBlock],
    claims: Claims,
    *,
    ordered: bool = True,
    separators: Sequence[str] = (),
    hidden: frozenset[str] = frozenset(),
) -> list[ExpectedBlock]:
    """Return the blocks that an implementation with `claims` must produce.

    Thinking that consists only of keys in `hidden` is left out: nothing in the implementation shows it.
    """

    def can_join(before: ExpectedBlock, block: ExpectedBlock) -> bool:
        match before.type, block.type:
            case "text", "text":
                is_same_phase = before.fields.get("phase", _NULL) == block.fields.get("phase", _NULL)
                is_signed = "signature" in separators and _is_signed(before, claims)
                return not is_signed and (is_same_phase or "phase" not in separators)
            case "refusal", "refusal":
                return True
            case "thinking", "thinking":
                return not ordered and not any(
                    _is_signed(thought, claims) or _is_redacted(thought) for thought in (before, block)
                )
            case _:
                return False

    kept = [
        block
        for block in blocks
        if _is_expected(block, claims, separators) and not _is_only_hidden(block, hidden)
    ]
    if not ordered:
        # The sort is stable, so calls stay in order.
        kept.sort(key=_get_rank)
    return [_join_expected(run) if len(run) > 1 else run[0] for run in _split_runs(kept, can_join)]


def normalize_received(
    blocks: Iterable[Block],
    claims: Claims,
    named: Sequence[ExpectedBlock] | None,
    *,
    ordered: bool = True,
    separators: Sequence[str] = (),
) -> list[Block]:
    """Return the blocks that are judged; `named` are the blocks that the case names, if there is a case.

    Blocks of other kinds, and calls of the provider, are judged only if the case names them.
    """
    kinds = collect_kinds(named or ())
    calls = None if named is None else [block for block in named if block.type == "tool_call"]

    def can_join(before: Block, block: Block) -> bool:
        match before, block:
            case Text(), Text():
                is_signed = "signature" in separators and bool(before.signature)
                return not is_signed and (before.phase == block.phase or "phase" not in separators)
            case Refusal(), Refusal():
                return True
            case Thinking(_, first, False), Thinking(_, second, False):
                return not (ordered or ("signatures" in claims and (first or second)))
            case _:
                return False

    judged = [
        block
        for block in blocks
        if _is_judged(block, claims, kinds, separators)
        and (calls is None or not _is_unnamed_provider_call(block, calls))
    ]
    if not ordered:
        judged.sort(key=_get_rank)
    return [_join_received(run) if len(run) > 1 else run[0] for run in _split_runs(judged, can_join)]


def join_split_thoughts(expected: Sequence[ExpectedBlock], received: Sequence[Block]) -> list[Block]:
    """Return `received` with the pieces of each thought joined, if only the last piece has a signature.

    A library may show each delta of a thought as a block. Two thoughts in one block remain a difference,
    because their signatures belong to different texts.
    """
    thoughts = [block for block in expected if block.type == "thinking"]
    # If the stream broke, not all thoughts arrived, so the number of blocks does not show that one is split.
    has_pieces = len(thoughts) < sum(isinstance(block, Thinking) for block in received)
    joined: list[Block] = []
    thought: ExpectedBlock | None = None
    """The expected thought of the last joined block."""
    for block in received:
        last = joined[-1] if joined else None
        if isinstance(block, Thinking) and not block.redacted:
            if (
                thought is not None
                and isinstance(last, Thinking)
                and not (last.signature or last.redacted)
                and _get_length(thought) >= len(last.text + block.text)
                and (has_pieces or (block.text and _begins_with(thought, last.text + block.text)))
            ):
                joined[-1] = replace(block, text=last.text + block.text)
                continue
            thought = thoughts.pop(0) if thoughts else None
        joined.append(block)
    return joined


def find_no_id(_: str) -> None:
    """Return None: the stream is unknown."""


def return_signatures(
    expected: Sequence[ExpectedBlock], received: Sequence[Block], find_id: FindId
) -> tuple[list[Block], int]:
    """Return `received` with the signatures of calls and texts on their blocks, and the number of moves.

    Some libraries report such a signature as a thinking block without text before the block.
    """
    has_thoughts = any(block.type == "thinking" for block in expected)
    others = [block.fields.get("signature") for block in expected if block.type != "thinking"]

    def is_moved(block: Block) -> bool:
        if not isinstance(block, Thinking) or block.text or block.redacted or not block.signature:
            return False
        if any(leaf is not None and matches_leaf(leaf, block.signature) for leaf in others):
            return True
        # A case need not name the signature, but the stream has it. It may belong to any thought.
        return not has_thoughts and find_id(block.signature) is not None

    returned: list[Block] = []
    moved: str | None = None
    count = 0
    for block in received:
        if is_moved(block):
            moved = getattr(block, "signature", None)
            count += 1
            continue
        if moved and isinstance(block, ToolCall | Text) and not block.signature:
            block = replace(block, signature=moved, absent=block.absent - {"signature"})  # noqa: PLW2901
        moved = None
        returned.append(block)
    return returned, count


def _begins_with(thought: ExpectedBlock, text: str) -> bool:
    leaf = thought.fields.get("text")
    return isinstance(leaf, Literally) and isinstance(leaf.value, str) and leaf.value.startswith(text)


def order_calls_by_id(
    expected: Sequence[ExpectedBlock], received: Sequence[Block], find_id: FindId = find_no_id
) -> tuple[list[Block], tuple[str, ...]]:
    """Return `received` with its calls in the order of the stream's ids, and the ids in their former order.

    The calls that both sides have by id change places only among themselves. The ids are empty if the order
    was right, or if ids do not identify the calls.
    """
    calls = {i: block for i, block in enumerate(received) if isinstance(block, ToolCall)}
    positions = _find_positions([block for block in expected if block.type == "tool_call"], calls, find_id)
    places, in_order = [*positions], sorted(positions, key=positions.__getitem__)
    ids = [calls[i].id for i in places]
    if in_order == places or len(set(ids)) < len(ids):
        return list(received), ()
    ordered = list(received)
    for place, source in zip(places, in_order, strict=True):
        ordered[place] = received[source]
    return ordered, tuple(id_ for id_ in ids if id_ is not None)


def _find_positions(
    expected: Sequence[ExpectedBlock], calls: Mapping[int, ToolCall], find_id: FindId
) -> dict[int, int]:
    """Map the calls that both sides have by id to the positions of the ids in the stream.

    If the case does not name each call by an id of its own, all calls must have ids that are in the stream.
    """
    ids = [*map(_get_id, expected)]
    places = {id_: place for place, id_ in enumerate(ids)}
    if None not in places and len(places) == len(ids):
        return {i: places[call.id] for i, call in calls.items() if call.id in places}
    # The same calls in the same order are the common case; searching the stream takes longer.
    if len(calls) > len(ids) or all(map(_is_same_call, expected, calls.values())):
        return {}
    found = {i: find_id(call.id) for i, call in calls.items() if call.id is not None}
    positions = {i: position for i, position in found.items() if position is not None}
    return positions if len(positions) == len(calls) else {}


def _is_same_call(expected: ExpectedBlock, got: ToolCall) -> bool:
    leaves = ((expected.fields.get(name), getattr(got, name)) for name in ("name", "arguments"))
    return all(leaf is None or matches_leaf(leaf, value) for leaf, value in leaves)


def _get_id(block: ExpectedBlock) -> str | None:
    leaf = block.fields.get("id")
    return leaf.value if isinstance(leaf, Literally) and isinstance(leaf.value, str) else None


def _get_length(block: ExpectedBlock) -> int:
    """Return the length of an expected text, at most, or 0 if it is unknown."""
    leaf = block.fields.get("text")
    if isinstance(leaf, Digest):
        return leaf.length
    texts = list_values(leaf) or ()
    return max((len(text) for text in texts if isinstance(text, str)), default=0)


def _split_runs(blocks: Iterable[B], can_join: Callable[[B, B], bool]) -> list[list[B]]:
    """Return the blocks, grouped into runs of neighbors that can be joined.

    Joining a run in one step takes linear time, which matters because an implementation may return one block
    per character.
    """
    runs: list[list[B]] = []
    for block in blocks:
        if runs and can_join(runs[-1][-1], block):
            runs[-1].append(block)
        else:
            runs.append([block])
    return runs


def _is_unnamed_provider_call(block: Block, named: Iterable[ExpectedBlock]) -> bool:
    """Return whether a block is a call that the provider ran and that the case does not name."""
    # A library may show such a call as a block of another kind, or not at all; no agent runs it again.
    if not isinstance(block, ToolCall) or block.executor != "provider":
        return False
    return not any(_names(call, block) for call in named)


def find_mislabeled_calls(
    named: Sequence[ExpectedBlock], expected: Sequence[ExpectedBlock], received: Sequence[Block]
) -> Iterator[ToolCall]:
    """Yield the received calls of the client that the case names as calls of the provider.

    `expected` are the blocks that must be reported; a provider's call is not among them unless it is claimed.
    """
    runs = [
        block
        for block in named
        if block.type == "tool_call" and block.fields.get("executor") == Literally("provider")
    ]
    if not runs:
        return  # a search among thousands of calls takes minutes
    own = [block for block in expected if block.type == "tool_call" and block not in runs]
    for block in received:
        if not isinstance(block, ToolCall) or block.executor == "provider":
            continue
        # A tool of the provider and one of the client may have the same name; then the id decides.
        owners = [call for call in own if _names(call, block) and _get_id(call) in (None, block.id)]
        if any(_names(run, block) for run in runs) and not owners:
            yield block


def _names(call: ExpectedBlock, block: ToolCall) -> bool:
    """Return whether the case means the call `block` by `call`; a wrong value in it is then a difference."""
    id_, name = call.fields.get("id"), call.fields.get("name")
    if isinstance(id_, Literally) and id_.value is not None and id_.value == block.id:
        return True
    if isinstance(name, Present):
        if isinstance(id_, Literally) and block.id is not None:
            return False
        # `present` fits every name, so only the arguments tell which call is meant.
        arguments = call.fields.get("arguments")
        return arguments is None or matches_leaf(arguments, block.arguments)
    return name is not None and matches_leaf(name, block.name)


def collect_kinds(blocks: Iterable[ExpectedBlock]) -> frozenset[str | None]:
    """Return the kinds of `other` blocks that a case names."""
    kinds = (block.fields.get("kind") for block in blocks if block.type == "other")
    return frozenset(kind.value for kind in kinds if isinstance(kind, Literally))


def pair_blocks(expected: Sequence[ExpectedBlock], got: Sequence[Block]) -> list[int | None]:
    """For each expected block, return the position of the received block that matches it, or None.

    If both lists have the same types, blocks match by position. Otherwise, the result is the in-order
    alignment with the most pairs of equal type; if there are several, it is the one with the most equal
    names, texts and arguments.
    """
    if [block.type for block in expected] == [block.type for block in got]:
        # Pair by position even if the values differ, so that a wrong text is one difference, not a lost block
        # and an extra block.
        return list(range(len(got)))
    if len(expected) * len(got) > MAX_PAIRS:
        return [i if i < len(got) and got[i].type == block.type else None for i, block in enumerate(expected)]
    scores = _score_pairs(expected, got)
    best = _sum_scores(scores, len(got))
    pairs: list[int | None] = []
    j = 0
    for i, row in enumerate(scores):
        # Skip received blocks that the best alignment leaves out.
        while j < len(got) and best[i][j] == best[i][j + 1]:
            j += 1
        if j < len(got) and row[j] and best[i][j] == best[i + 1][j + 1] + row[j]:
            pairs.append(j)
            j += 1
        else:
            pairs.append(None)
    return pairs


def _score_pairs(expected: Sequence[ExpectedBlock], got: Sequence[Block]) -> list[list[int]]:
    """Return the scores of each expected block with each received one, 0 for blocks that cannot match."""
    # Larger than the total similarity of all pairs, so that the number of pairs takes precedence.
    weight = 2 * min(len(expected), len(got))
    ids = frozenset(id_ for id_ in map(_get_id, expected) if id_ is not None)
    exact = [{i for i, wanted in enumerate(expected) if _is_exactly(wanted, block)} for block in got]
    return [
        [
            _score_pair(wanted, block, weight, ids, is_other=bool(equal) and i not in equal)
            for block, equal in zip(got, exact, strict=True)
        ]
        for i, wanted in enumerate(expected)
    ]


def _sum_scores(scores: Sequence[Sequence[int]], columns: int) -> list[list[int]]:
    """Return the score of the best alignment of the blocks from each position on.

    It is a longest common subsequence, weighted by similarity: one lost block is then reported as one lost
    block rather than as a difference in every later block.
    """
    best = [[0] * (columns + 1) for _ in range(len(scores) + 1)]
    # Filled from the end, so that the pairs can then be read off from the beginning.
    for i in reversed(range(len(scores))):
        for j in reversed(range(columns)):
            paired = best[i + 1][j + 1] + scores[i][j] if scores[i][j] else 0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    return best


def _get_rank(block: ExpectedBlock | Block) -> int:
    return _RANKS[block.type]


def _is_expected(block: ExpectedBlock, claims: Claims, separators: Sequence[str]) -> bool:
    text = block.fields.get("text")
    match block.type:
        case "text":
            return text != Literally("") or ("signature" in separators and _is_signed(block, claims))
        case "refusal":
            return "refusals" in claims and text != Literally("")
        case "thinking":
            has_text = text not in (_NULL, Literally(""))
            return "thinking" in claims and (_is_signed(block, claims) or _is_redacted(block) or has_text)
        case "tool_call":
            provider = block.fields.get("executor") == Literally("provider")
            return ("provider_tools" if provider else "tool_calls") in claims
        case "other":
            return True


def _is_only_hidden(block: ExpectedBlock, hidden: frozenset[str]) -> bool:
    if block.type != "thinking" or block.fields.get("text", _NULL) not in (_NULL, Literally("")):
        return False
    return "signature" in hidden and ("redacted" in hidden or not _is_redacted(block))


def _is_signed(block: ExpectedBlock, claims: Claims) -> bool:
    signature = block.fields.get("signature", _NULL)
    return "signatures" in claims and signature not in (_NULL, Literally(""))


def _is_judged(block: Block, claims: Claims, kinds: frozenset[str | None], separators: Sequence[str]) -> bool:
    match block:
        case Text(text=text, signature=signature):
            return text != "" or ("signature" in separators and bool(signature))
        case Refusal(text):
            return "refusals" in claims and text != ""
        case Thinking(text, signature, redacted):
            signed = "signatures" in claims and bool(signature)
            return "thinking" in claims and (signed or redacted or text != "")
        case ToolCall(executor=executor):
            return ("provider_tools" if executor == "provider" else "tool_calls") in claims
        case Other(kind):
            return kind in kinds


def _is_redacted(block: ExpectedBlock) -> bool:
    return block.fields.get("redacted") == Literally(value=True)


def _join_expected(blocks: Sequence[ExpectedBlock]) -> ExpectedBlock:
    """Return the joined block; if one of the texts is a matcher, the joined text is not checked.

    Digests do not count as matchers, because a text can be checked against the digests of its parts.
    """
    texts = [block.fields.get("text") for block in blocks]
    literals = [text.value for text in texts if isinstance(text, Literally)]
    fields: dict[str, Leaf] = {}
    if len(literals) == len(texts):
        fields["text"] = Literally("".join(literals))
        # Included only if the case names them, since each field of the expectation is a check.
        if any("citations" in block.fields for block in blocks):
            cited = [block.fields.get("citations", Literally([])) for block in blocks]
            lists = [leaf.value for leaf in cited if isinstance(leaf, Literally)]
            fields["citations"] = Literally(_join_citations(literals, lists))
    elif len(digests := _list_digests(texts)) == len(texts):
        fields["text"] = Digest(tuple(part for digest in digests for part in digest.parts))
    last = blocks[-1]
    if "signature" in last.fields:
        fields["signature"] = last.fields["signature"]
    if "phase" in last.fields and all(block.fields.get("phase") == last.fields["phase"] for block in blocks):
        fields["phase"] = last.fields["phase"]
    return ExpectedBlock(last.type, fields)


def _list_digests(texts: Iterable[Leaf | None]) -> list[Digest]:
    """Return the digests, including those computed from literal texts, but leave out other matchers."""
    return [
        leaf if isinstance(leaf, Digest) else digest_text(leaf.value)
        for leaf in texts
        if isinstance(leaf, Digest) or (isinstance(leaf, Literally) and isinstance(leaf.value, str))
    ]


def _join_received(blocks: Sequence[Block]) -> Block:
    """Return the block that joins these texts, refusals or thoughts."""
    if isinstance(blocks[0], Refusal):
        return Refusal("".join(block.text for block in blocks if isinstance(block, Refusal)))
    # Thoughts are joined only if their signatures are absent or not judged, so no signature is lost here.
    if isinstance(blocks[0], Thinking):
        return Thinking("".join(block.text for block in blocks if isinstance(block, Thinking)))
    return _join_texts([block for block in blocks if isinstance(block, Text)])


def _join_texts(texts: Sequence[Text]) -> Text:
    """Return the joined text; a phase counts as exposed only if all parts have it."""
    last = texts[-1]
    has_one_phase = all(text.phase == last.phase for text in texts)
    # A key that one part leaves out is unknown for the joined text.
    absent = frozenset[str]().union(*(text.absent for text in texts))
    return Text(
        "".join(text.text for text in texts),
        phase=last.phase if has_one_phase else None,
        signature=last.signature,
        citations=tuple(_join_citations([text.text for text in texts], [text.citations for text in texts])),
        absent=absent | (frozenset() if has_one_phase else frozenset({"phase"})),
    )


def _join_citations(
    texts: Sequence[str], citations: Sequence[Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the citations of joined texts, with their positions in the joined text."""
    joined: list[dict[str, Any]] = []
    length = 0
    for text, cited in zip(texts, citations, strict=True):
        for citation in cited:
            places = {
                key: citation[key] + length for key in ("start", "end") if isinstance(citation.get(key), int)
            }
            joined.append({**citation, **places})
        length += len(text)
    return joined


def _is_exactly(expected: ExpectedBlock, got: Block) -> bool:
    """Return whether `got` is the call that `expected` is, with its name and arguments."""
    # A call that was cut has no arguments, like a call whose arguments are malformed.
    if not isinstance(got, ToolCall) or got.arguments is None or expected.type != "tool_call":
        return False
    values = {name: expected.fields.get(name) for name in ("name", "arguments")}
    return values == {"name": Literally(got.name), "arguments": Literally(got.arguments)}


def _score_pair(
    expected: ExpectedBlock, got: Block, weight: int, ids: frozenset[str], *, is_other: bool
) -> int:
    """Return 0 for blocks that cannot match, and otherwise `weight` plus 1 to 3, by similarity.

    Blocks of different types cannot match, nor can calls if one has the id of another in `ids`, or is
    exactly another expected call (`is_other`).
    """
    if expected.type != got.type:
        return 0
    expected_id, got_id = _get_id(expected), getattr(got, "id", None)
    if expected_id is not None and got_id is not None:
        if expected_id == got_id:
            return weight + 3
        if got_id in ids:
            return 0
    if is_other:
        return 0
    name = "name" if isinstance(got, ToolCall) else "text"
    leaf = expected.fields.get(name)
    if not (isinstance(leaf, Literally) and leaf.value == getattr(got, name)):
        return weight + 1
    # Some of several calls to one tool may be missing: the arguments show which.
    return weight + (3 if _is_exactly(expected, got) else 2)
