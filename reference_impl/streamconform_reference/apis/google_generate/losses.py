"""What Gemini's `generateContent` cannot express, and the values written instead.

Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import drop_text, map_calls
from streamconform_reference.encoding.encoder import Loss
from streamconform_reference.encoding.losses import (
    COST,
    NAMES,
    REFUSALS,
    drop_redacted,
    join_surrogates,
    keep_blocks,
    keep_only_error,
    make_extras_row,
    map_blocks,
    map_stop,
)
from streamconform_reference.encoding.stop_words import StopReasons
from streamconform_reference.outcome import (
    Block,
    Error,
    Other,
    Outcome,
    Stop,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .decode import METADATA, PARTS
from .failures import encode_error, is_finish_reason
from .reasons import STOP_REASONS

STOP_WORDS: Final = StopReasons(
    STOP_REASONS,
    {
        "stop": "STOP",
        "tool_use": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
        "refusal": "SAFETY",
        "pause": "OTHER",
        "other": "OTHER",
    },
)
MALFORMED: Final = "MALFORMED_FUNCTION_CALL"
_BLOCKED: Final = frozenset({"JAILBREAK", "OTHER"})
"""Block reasons for prompts; as finish reasons, they have a different meaning or none."""
_PARTS: Final = frozenset(PARTS) - {"functionCall", "toolCall"}


# Blocks.


def is_part(other: Other) -> bool:
    """Whether a block is a part of the API's content."""
    return other.kind in _PARTS and isinstance(other.data, dict)


def is_metadata(other: Other) -> bool:
    """Whether a block is metadata of the entire candidate."""
    return other.kind in METADATA and isinstance(other.data, dict) and bool(other.data)


def is_expressible(block: Block) -> bool:
    """Whether the API can represent a block.

    A part is a complete call whose arguments are an object, so truncated calls cannot be represented.
    """
    if not isinstance(block, ToolCall):
        return True
    return block.complete and isinstance(block.arguments, dict) and (bool(block.name) or is_hosted(block))


def is_malformed(block: Block) -> bool:
    """Whether a block is a call for the client whose arguments are not an object."""
    ended = isinstance(block, ToolCall) and block.complete and block.executor == "client" and block.name
    return bool(ended) and not is_expressible(block)


def is_hosted(call: ToolCall) -> bool:
    """Whether the provider runs a call."""
    return call.executor == "provider"


def make_malformed_error(call: ToolCall) -> Error:
    """Return the error for an answer with `call`, whose arguments are not an object."""
    return Error(MALFORMED, f"Malformed function call: {call.name}", None)


def _split_signature(block: Block) -> Iterator[Block]:
    """Yield prose and its signature separately, because text is written before its end is known."""
    if isinstance(block, (Text, Thinking)) and block.signature and block.text:
        yield replace(block, signature=None)
        yield replace(block, text="")
    else:
        yield block


def _join_prose_as_read(outcome: Outcome) -> Outcome:
    """Return the outcome with its prose joined, as clients read it from a wire format without blocks.

    Adjacent prose of the same kind is joined, unless a block is signed; metadata in between does not matter.
    """
    blocks: list[Block] = []
    position = -1  # the index of the prose block that can continue
    for block in outcome.content:
        if not isinstance(block, (Text, Thinking)):
            blocks.append(block)
            position = position if isinstance(block, Other) and is_metadata(block) else -1
            continue
        last = blocks[position] if position >= 0 else None
        if block.signature:
            blocks.append(block)
            position = -1
        elif block.text and isinstance(last, (Text, Thinking)) and type(last) is type(block):
            blocks[position] = replace(last, text=join_surrogates(last.text + block.text))
        elif block.text:
            position = len(blocks)
            blocks.append(block)
    return replace(outcome, content=tuple(blocks))


def _filter_others(outcome: Outcome) -> Outcome:
    blocks: list[Block] = []
    places: dict[str, int] = {}
    for block in outcome.content:
        if isinstance(block, Other):
            if is_metadata(block):
                place = places.setdefault(block.kind, len(blocks))
                blocks[place : place + 1] = [block]
                continue
            if not is_part(block):
                continue
        blocks.append(block)
    return replace(outcome, content=tuple(blocks))


def _move_metadata_last(outcome: Outcome) -> Outcome:
    def place(block: Block) -> int:
        return 1 + METADATA.index(block.kind) if isinstance(block, Other) and is_metadata(block) else 0

    return replace(outcome, content=tuple(sorted(outcome.content, key=place)))


def _without_malformed(outcome: Outcome) -> Outcome:
    wrong = [block for block in outcome.content if isinstance(block, ToolCall) and is_malformed(block)]
    outcome = keep_blocks(is_expressible)(outcome)
    if outcome.status == "complete" and wrong:
        return replace(
            outcome, status="error", error=make_malformed_error(wrong[0]), stop=Stop("error", MALFORMED)
        )
    return outcome


# Stop reason and usage.


def encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finishReason`, or the `blockReason` if there is no content, and its meaning."""
    if is_blocked(stop) and not content:
        return stop.raw or "", "content_filter"
    word = STOP_WORDS.of(stop, called=False)
    return word, STOP_WORDS.meaning(word)


def is_blocked(stop: Stop) -> bool:
    """Whether a stop has a block reason, which never ends an answer that has content."""
    return stop.reason == "content_filter" and stop.raw in _BLOCKED


def encode_usage(usage: Usage | None) -> Usage | None:
    """Return the usage with the counts that the API has: cache writes count as input."""
    if usage is None:
        return None
    input_counts = [count for count in (usage.input, usage.cache_write) if count is not None]
    output = usage.output if usage.reasoning is None else max(usage.output or 0, usage.reasoning)
    counts = Usage(
        input=sum(input_counts) if input_counts else None,
        cache_read=usage.cache_read,
        output=output,
        reasoning=usage.reasoning,
    )
    return None if counts == Usage() else counts


def _encode_failure(outcome: Outcome) -> Outcome:
    if outcome.status != "error":
        return outcome
    error = encode_error(outcome.error or Error(None, None, None))
    word = error.type if is_finish_reason(error) else None
    return replace(outcome, error=error, stop=Stop("error", word))


def _error_document(outcome: Outcome) -> Outcome:
    return (
        outcome if outcome.status == "error" and is_finish_reason(outcome.error) else keep_only_error(outcome)
    )


def _usage(outcome: Outcome) -> Outcome:
    return replace(outcome, usage=encode_usage(outcome.usage))


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    make_extras_row(kept=("text.signature", "call.signature")),
    Loss("other", "a provider-specific block from another provider", "omitted", _filter_others),
    Loss(
        "redacted",
        "redacted thinking",
        "omitted; if it has text, it becomes unsigned thinking",
        map_blocks(drop_redacted),
    ),
    Loss(
        "calls",
        "a call that is truncated or has no name; arguments that are not an object",
        "omitted; a complete answer with such arguments fails with `MALFORMED_FUNCTION_CALL`",
        _without_malformed,
    ),
    Loss("arguments-text", "the text of arguments", "the value", map_calls(drop_text)),
    Loss(
        "signed-text",
        "a signature on non-empty text or thinking",
        "the signature on an empty part that follows",
        map_blocks(_split_signature),
    ),
    Loss(
        "prose",
        "the boundary between adjacent blocks of the same kind, text or thinking; blocks of these kinds "
        "without text",
        "one block, because the wire has no boundaries; empty blocks are omitted",
        _join_prose_as_read,
    ),
    Loss(
        "metadata-place",
        "the position of the candidate's metadata in the content",
        "after everything else",
        _move_metadata_last,
        forms=("document",),
    ),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, a refusal, and a pause",
        "the API's equivalent; `SAFETY` for a refusal; `OTHER` for a pause",
        map_stop(encode_stop),
    ),
    Loss(
        "usage",
        "cache writes; search counts; an output count below the reasoning count",
        "cache writes count as input; search counts are omitted; the output count is raised to the "
        "reasoning count",
        _usage,
    ),
    Loss(
        "failed-document",
        "the content of an answer that failed or was cut off",
        "an error document, unless the failure is a finish reason",
        _error_document,
        forms=("document",),
    ),
    Loss(
        "error",
        "error types that exist only in other APIs; the absence of an error's message or HTTP status; a "
        "stop reason before an error",
        "the type for the status, otherwise `UNKNOWN`; that type as the message; status 500; no stop reason",
        _encode_failure,
    ),
)
