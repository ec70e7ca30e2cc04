"""What OpenAI Chat Completions cannot express, and the values written instead.

Source: https://platform.openai.com/docs/api-reference/chat-streaming. The only vendor field is
`reasoning_content`, which most vendors use; OpenAI's own answers show no reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import end_calls, make_contradiction_row, make_text_row
from streamconform_reference.encoding.encoder import Loss
from streamconform_reference.encoding.losses import (
    COST,
    DOCUMENT_ERROR,
    EMPTY_PROSE,
    FAILED_REASON,
    FIELD_ORDER,
    JOINED,
    NAMES,
    OTHERS,
    PROVIDER_CALLS,
    SIGNATURES,
    is_client_call,
    make_extras_row,
    map_error,
    map_stop,
    map_usage,
)
from streamconform_reference.outcome import (
    Block,
    Citation,
    Error,
    Outcome,
    Refusal,
    Stop,
    StopReason,
    Text,
    Usage,
)

from .citations import read_annotation
from .reasons import STOP_REASONS

_REASONS: Final[Mapping[StopReason | None, str]] = {"length": "length", "content_filter": "content_filter"}
_NO_WORDS: Final = "the provider gave no reason"


def is_own_citation(citation: Citation) -> bool:
    """Whether a citation is one of the API's annotations."""
    is_own = isinstance(citation.data, dict) and isinstance(citation.data.get("url_citation"), dict)
    return is_own and read_annotation(citation.data) == citation


def choose_stop_reason(stop: Stop, *, called: bool, refused: bool) -> str:
    """Return the `finish_reason`. The raw reason is not used, because servers send `stop` after calls."""
    if stop.reason == "refusal" and (called or not refused):
        return "content_filter"
    return _REASONS.get(stop.reason, "tool_calls" if called else "stop")


def encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finish_reason`, and its meaning."""
    called = any(is_client_call(block) for block in content)
    refused = any(isinstance(block, Refusal) for block in content)
    word = choose_stop_reason(stop, called=called, refused=refused)
    return word, STOP_REASONS[word]


def encode_error(error: Error) -> Error:
    """Return the error in the API's form, which allows any type but has no HTTP status."""
    return Error(error.type, error.message or _NO_WORDS, None)


def encode_usage(usage: Usage | None) -> Usage | None:
    """Return the counts that have fields, with 0 for the required ones."""
    return usage and Usage(
        input=usage.input or 0,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        output=usage.output or 0,
        reasoning=usage.reasoning,
    )


def _move_citations_to_first_text(outcome: Outcome) -> Outcome:
    citations = tuple(c for block in outcome.content if isinstance(block, Text) for c in block.citations)
    first = next(
        (n for n, block in enumerate(outcome.content) if isinstance(block, Text) and block.text), None
    )
    content = [
        replace(block, citations=citations if number == first else ()) if isinstance(block, Text) else block
        for number, block in enumerate(outcome.content)
    ]
    return replace(outcome, content=tuple(content))


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    SIGNATURES,
    make_extras_row(kept=("call.signature",), cites=is_own_citation),
    OTHERS,
    PROVIDER_CALLS,
    Loss(
        "cited-text",
        "which of several texts a citation belongs to",
        "the first non-empty text; if all are empty, the citations are omitted",
        _move_citations_to_first_text,
    ),
    EMPTY_PROSE,
    FIELD_ORDER,
    JOINED,
    make_text_row(),
    make_contradiction_row(),
    Loss(
        "unended-call",
        "an unfinished call in a complete answer; a finished call in an incomplete answer",
        "the unfinished call gets invalid JSON as its arguments, and the finished call stays open, so "
        "that no client runs them",
        end_calls(encode_stop, by_block=False),
    ),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, and a pause",
        "`length` or `content_filter` if that is the reason, otherwise `tool_calls` with a call and "
        "`stop` without one; a refusal that has no text, or has a call, is `content_filter`",
        map_stop(encode_stop),
    ),
    Loss(
        "usage",
        "web search counts; one-hour cache writes; unknown input and output counts; the usage of "
        "an answer that failed or was cut off",
        "0 for unknown input and output counts; the others are omitted",
        map_usage(encode_usage),
    ),
    FAILED_REASON,
    DOCUMENT_ERROR,
    Loss(
        "error",
        "an error's HTTP status, and the absence of a message",
        "omitted",
        map_error(encode_error),
    ),
)
