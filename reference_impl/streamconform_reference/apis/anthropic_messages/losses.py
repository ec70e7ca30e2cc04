"""What Anthropic Messages cannot express, and the values written instead.

Source: https://docs.claude.com/en/api/handling-stop-reasons and https://docs.claude.com/en/api/errors
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
    FAILED_REASON,
    NAMES,
    REFUSALS,
    filter_others,
    is_client_call,
    keep_blocks,
    make_extras_row,
    map_blocks,
    map_error,
    map_stop,
    map_usage,
)
from streamconform_reference.outcome import (
    Block,
    Citation,
    Error,
    Other,
    Stop,
    StopReason,
    Text,
    Thinking,
    Usage,
)

from .content import CITATIONS
from .decode import STOP_REASONS

_REASONS: Final[Mapping[StopReason | None, str]] = {
    "length": "max_tokens",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
"""The stop reason for each meaning; any other is `tool_use` if there is a call to run, or else `end_turn`."""
_OWN_REASONS: Final = frozenset({*STOP_REASONS, "compaction"} - {"tool_use"})
_ERRORS: Final[Mapping[int | None, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The error type for each HTTP status; any other status becomes `api_error`."""
_NO_WORDS: Final = "the provider gave no reason"
_OTHERS: Final = frozenset({"container_upload", "compaction", "fallback", "mcp_tool_listing"})
_RESULT: Final = "_tool_result"
_CITATIONS: Final = frozenset(
    [
        "char_location",
        "page_location",
        "content_block_location",
        "web_search_result_location",
        "search_result_location",
    ]
)


def is_own_citation(citation: Citation) -> bool:
    """Whether a citation has the API's own form."""
    is_own = isinstance(citation.data, dict) and citation.data.get("type") in _CITATIONS
    return is_own and CITATIONS.read(citation.data) == citation


def is_own_block(block: Other) -> bool:
    """Whether an `other` block is one that the API has; such blocks are complete in their start event."""
    is_own = block.kind in _OTHERS or block.kind.endswith(_RESULT)
    return is_own and isinstance(block.data, dict) and block.data.get("type") == block.kind


def choose_stop_reason(stop: Stop, *, called: bool) -> str:
    """Return the `stop_reason`: the raw one if the API defines it with the same meaning."""
    if stop.raw in _OWN_REASONS and STOP_REASONS.get(stop.raw, "other") == stop.reason:
        word = stop.raw
    else:
        word = _REASONS.get(stop.reason, "end_turn")
    return "tool_use" if called and STOP_REASONS.get(word) == "stop" else word


def encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `stop_reason`, and its meaning."""
    word = choose_stop_reason(stop, called=any(is_client_call(block) for block in content))
    return word, STOP_REASONS.get(word, "other")


def encode_error(error: Error) -> Error:
    """Return the error with one of the API's types, and without an HTTP status, which its errors lack."""
    is_own = error.type in _ERRORS.values()
    kind = error.type if is_own else _ERRORS.get(error.status, "api_error")
    return Error(kind, error.message or _NO_WORDS, None)


def encode_usage(usage: Usage | None) -> Usage:
    """Return the usage with the two counts that are required."""
    usage = usage or Usage()
    return replace(usage, input=usage.input or 0, output=usage.output or 0)


def _split_redacted(block: Block) -> Iterator[Block]:
    if isinstance(block, Thinking) and block.redacted and block.text:
        yield Thinking(text=block.text, signature=None, redacted=False)
        yield replace(block, text="")
    else:
        yield block


def _has_content(block: Block) -> bool:
    match block:
        case Text():
            return bool(block.text or block.citations)
        case Thinking():
            return bool(block.text or block.signature)
        case _:
            return True


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    make_extras_row(kept=("stop.sequence", "stop.details"), cites=is_own_citation),
    Loss(
        "other",
        "a provider-specific block from another provider",
        "omitted",
        filter_others(is_own_block),
    ),
    Loss(
        "redacted-text",
        "a thinking block that has both text and redacted data",
        "two blocks: unsigned thinking, then redacted thinking",
        map_blocks(_split_redacted),
    ),
    Loss(
        "empty-prose",
        "a text or thinking block without text, signature or citations",
        "omitted, because the API rejects such a block in the next request",
        keep_blocks(_has_content),
    ),
    make_text_row(blank=True, forms=("stream",)),
    make_contradiction_row(forms=("stream",)),
    *make_call_rows(encode_stop),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, and `content_filter`",
        "the API's equivalent, which for `content_filter` is `refusal`; if there is none, `tool_use` "
        "with a call for the client, otherwise `end_turn`",
        map_stop(encode_stop),
    ),
    Loss(
        "usage",
        "unknown input and output counts, and the usage of an answer that failed or was cut off",
        "0",
        map_usage(encode_usage),
    ),
    FAILED_REASON,
    DOCUMENT_ERROR,
    Loss(
        "error",
        "error types that exist only in other APIs, and the HTTP status of an error",
        "the type for the status, otherwise `api_error`",
        map_error(encode_error),
    ),
)
