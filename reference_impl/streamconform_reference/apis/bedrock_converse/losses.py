"""What Bedrock Converse cannot express, and the values written instead.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and the pages
that it links to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import (
    make_call_rows,
    make_contradiction_row,
    make_text_row,
)
from streamconform_reference.encoding.encoder import Loss
from streamconform_reference.encoding.losses import (
    COST,
    DOCUMENT_ERROR,
    EMPTY_PROSE,
    FAILED_REASON,
    REFUSALS,
    filter_others,
    is_client_call,
    make_extras_row,
    map_blocks,
    map_error,
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
    Thinking,
    Usage,
)

from .content import read_citation
from .decode import STOP_REASONS
from .failures import EXCEPTIONS

STOP_WORDS: Final = StopReasons(
    STOP_REASONS,
    {
        "stop": "end_turn",
        "tool_use": "tool_use",
        "length": "max_tokens",
        "content_filter": "content_filtered",
        "refusal": "content_filtered",
    },
)
_BY_STATUS: Final[Mapping[int | None, str]] = {
    400: "validationException",
    424: "modelStreamErrorException",
    429: "throttlingException",
    500: "internalServerException",
    503: "serviceUnavailableException",
    529: "serviceUnavailableException",
}
"""The exception for each HTTP status."""
_LONGEST_HEADER: Final = 2**16 - 1
# `other` blocks that begin with a start event: the key in that event, and a field that the block always
# has.
OTHER_STARTS: Final[Mapping[str, tuple[str, str]]] = {
    "tool_result": ("toolResult", "toolUseId"),
    "image": ("image", "format"),
}


def is_own_citation(citation: Citation) -> bool:
    """Whether a citation has the API's own form."""
    is_own = isinstance(citation.data, dict) and "location" in citation.data
    return is_own and read_citation(citation.data) == citation


def is_own_block(other: Other) -> bool:
    """Whether a block is an image, or the result of a tool that AWS ran."""
    _, needed = OTHER_STARTS.get(other.kind, ("", ""))
    return isinstance(other.data, dict) and isinstance(other.data.get(needed), str)


def encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `stopReason`, and what a client reads from it alone."""
    word = STOP_WORDS.of(stop, called=any(is_client_call(block) for block in content))
    return word, STOP_WORDS.meaning(word)


def encode_error(error: Error) -> Error:
    """Return the error as one of the API's exceptions, or as an unmodeled error with a code and a message."""
    is_own = error.type in EXCEPTIONS
    kind = error.type if is_own else _BY_STATUS.get(error.status, error.type)
    kind = kind if kind and fits_header(kind) else None
    return Error(kind, error.message or None, EXCEPTIONS.get(kind or ""))


def document_error(error: Error) -> Error:
    """Return the error for a document, which is always one of the exceptions."""
    encoded = encode_error(error)
    return encoded if encoded.type in EXCEPTIONS else encode_error(Error(None, error.message, 500))


def fits_header(text: str) -> bool:
    """Whether a text fits in a message header."""
    try:
        return len(text.encode()) <= _LONGEST_HEADER
    except UnicodeEncodeError:
        return False


def encode_usage(usage: Usage | None) -> Usage:
    """Return the usage with the counts that the API has; two of them are required."""
    usage = usage or Usage()
    return replace(usage, input=usage.input or 0, output=usage.output or 0, reasoning=None, web_searches=None)


def _drop_names(outcome: Outcome) -> Outcome:
    return replace(outcome, model=None, response_id=None)


def _split_redacted(block: Block) -> Iterator[Block]:
    if isinstance(block, Thinking) and block.redacted and block.text:
        yield Thinking(text=block.text, signature=None, redacted=False)
        yield from _split_redacted(replace(block, text=""))
    elif isinstance(block, Thinking) and not block.signature:
        yield replace(block, signature=None, redacted=False)
    else:
        yield block


def _usage_at_the_end(outcome: Outcome) -> Outcome:
    complete = outcome.status == "complete"
    return replace(outcome, usage=encode_usage(outcome.usage) if complete else None)


ERRORS: Final[tuple[Loss, ...]] = (
    Loss(
        "error",
        "error types that exist only in other APIs, and the HTTP status of an error",
        "the exception for the status, which implies that exception's status; if there is none, the type "
        "alone",
        map_error(encode_error),
        forms=("stream",),
    ),
    Loss(
        "document-error",
        "error types that exist only in other APIs, and the HTTP status of an error",
        "the exception for the status, otherwise `internalServerException`; either implies its own status",
        map_error(document_error),
        forms=("document",),
    ),
)
"""The rows for errors, which all streams of the service share."""

LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    Loss("names", "an answer's id and model", "omitted", _drop_names),
    REFUSALS,
    Loss(
        "redacted-text",
        "a thinking block that has both text and redacted data",
        "two blocks: unsigned thinking, then redacted thinking",
        map_blocks(_split_redacted),
    ),
    EMPTY_PROSE,
    make_extras_row(cites=is_own_citation),
    Loss(
        "other",
        "a provider-specific block from another provider",
        "omitted",
        filter_others(is_own_block),
    ),
    make_text_row(forms=("stream",)),
    make_contradiction_row(forms=("stream",)),
    *make_call_rows(encode_stop),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, and a refusal",
        "the API's equivalent, which for a refusal is `content_filtered`; if there is none, the raw reason",
        map_stop(encode_stop),
    ),
    Loss(
        "usage",
        "unknown input and output counts; reasoning and search counts; the usage of an answer that "
        "failed or was cut off",
        "0 for unknown counts; the others are omitted",
        _usage_at_the_end,
    ),
    FAILED_REASON,
    DOCUMENT_ERROR,
    *ERRORS,
)
