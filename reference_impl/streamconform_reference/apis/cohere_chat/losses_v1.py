"""What version 1 of Cohere Chat cannot express, and the values written instead.

Source: https://docs.cohere.com/reference/chat-stream-v1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import drop_text, map_calls
from streamconform_reference.encoding.encoder import Loss
from streamconform_reference.encoding.losses import (
    COST,
    PROVIDER_CALLS,
    REFUSALS,
    join_surrogates,
    keep_blocks,
    make_extras_row,
    map_stop,
)
from streamconform_reference.encoding.stop_words import StopReasons
from streamconform_reference.outcome import (
    Block,
    Citation,
    Error,
    Other,
    Outcome,
    Stop,
    StopReason,
    Text,
    Thinking,
    ToolCall,
)

from .citations import read_citations
from .losses import FAILED, NAMES, STOP_WORDS, USAGE, make_failure_row
from .terminal import STOP_REASONS

_NOT_V1: Final = frozenset({"TOOL_CALL", "TIMEOUT"})
V1_STOP_WORDS: Final = StopReasons(
    {word: reason for word, reason in STOP_REASONS.items() if word not in _NOT_V1},
    {**STOP_WORDS.usual, "tool_use": STOP_WORDS.usual["stop"]},
)
MALFORMED: Final = "INVALID_TOOL_GENERATION"
"""Version 2's name for the failure that malformed arguments cause."""
# `other` blocks: the type of their event, the field with the list, and a field that each item has.
V1_OTHERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "search_query": ("search-queries-generation", "search_queries", "text"),
    "search_result": ("search-results", "search_results", "document_ids"),
    "document": ("search-results", "documents", "id"),
}


def is_v1_block(other: Other) -> bool:
    """Whether version 1 can express an `other` block."""
    _, _, needed = V1_OTHERS.get(other.kind, ("", "", ""))
    return isinstance(other.data, dict) and needed in other.data


def is_v1_citation(citation: Citation) -> bool:
    """Whether version 1 can express a citation."""
    is_own = isinstance(citation.data, dict) and "document_ids" in citation.data
    return is_own and citation in read_citations(citation.data)


def is_whole(block: Block) -> bool:
    """Whether a block can be written; false for a truncated call, and for arguments other than an object."""
    return not isinstance(block, ToolCall) or (block.complete and isinstance(block.arguments, dict))


def is_malformed(block: Block) -> bool:
    """Whether a block is an ended call whose arguments are not an object."""
    return isinstance(block, ToolCall) and block.complete and not is_whole(block)


def make_malformed_error(call: ToolCall) -> Error:
    """Return the error for an answer with `call`, whose arguments are not an object."""
    return Error(MALFORMED, f"invalid tool generation: {call.name}", None)


def encode_stop(stop: Stop, _content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finish_reason`, and what a client reads from it alone."""
    word = V1_STOP_WORDS.of(stop, called=False)
    return word, V1_STOP_WORDS.meaning(word)


def _own_others(block: Block) -> bool:
    return not isinstance(block, (Other, Thinking)) or (isinstance(block, Other) and is_v1_block(block))


def _without_malformed(outcome: Outcome) -> Outcome:
    wrong = [block for block in outcome.content if isinstance(block, ToolCall) and is_malformed(block)]
    outcome = keep_blocks(is_whole)(outcome)
    if outcome.status == "complete" and wrong:
        return replace(
            outcome, status="error", error=make_malformed_error(wrong[0]), stop=Stop("error", FAILED)
        )
    return outcome


def _calls_at_the_end(outcome: Outcome) -> Outcome:
    """Return the outcome with all text joined where the first text was, and complete calls at the end."""
    content: list[Block] = []
    position: int | None = None
    for block in outcome.content:
        if not isinstance(block, Text):
            content += [] if isinstance(block, ToolCall) else [block]
        elif position is None and block.text:
            position = len(content)
            content.append(block)
        elif position is not None:
            before = content[position]
            if isinstance(before, Text):
                text = join_surrogates(before.text + block.text)
                content[position] = Text(text, citations=before.citations + block.citations)
    if outcome.status != "incomplete":
        for block in outcome.content:
            if isinstance(block, ToolCall):
                content.append(replace(block, id=f"call_{len(content)}"))
    return replace(outcome, content=tuple(content))


V1_LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    PROVIDER_CALLS,
    make_extras_row(cites=is_v1_citation),
    Loss(
        "other",
        "thinking, and a provider-specific block from another provider",
        "omitted",
        keep_blocks(_own_others),
    ),
    Loss(
        "calls",
        "a truncated call; arguments that are not an object",
        "omitted; a complete answer with such arguments fails with `INVALID_TOOL_GENERATION`",
        _without_malformed,
    ),
    Loss("arguments-text", "the text of arguments", "the value", map_calls(drop_text)),
    Loss(
        "place",
        "several texts; the position and the id of a call",
        "one text; the calls at the end, identified by their positions, and omitted from a truncated answer",
        _calls_at_the_end,
    ),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, filtered content, and a refusal",
        "the API's equivalent, which for filtered content and a refusal is `ERROR_TOXIC`; if there is "
        "none, the raw reason",
        map_stop(encode_stop),
    ),
    USAGE,
    make_failure_row(V1_STOP_WORDS.meanings),
)
