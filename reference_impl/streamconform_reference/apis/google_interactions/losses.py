"""What Gemini's Interactions API cannot express, and the values written instead.

Source: https://ai.google.dev/api/interactions-api, https://ai.google.dev/gemini-api/docs/api-errors
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    NAMES,
    REFUSALS,
    drop_redacted,
    filter_others,
    is_client_call,
    make_extras_row,
    map_blocks,
    map_error,
    map_stop,
    map_usage,
)
from streamconform_reference.encoding.stop_words import StopReasons
from streamconform_reference.outcome import (
    Block,
    Citation,
    Error,
    Other,
    Stop,
    StopReason,
    Usage,
)

from .decode import STOP_REASONS
from .steps import CITATIONS

STATUSES: Final = StopReasons(
    STOP_REASONS,
    {
        "stop": "completed",
        "tool_use": "requires_action",
        "length": "incomplete",
        "content_filter": "incomplete",
        "refusal": "incomplete",
        "pause": "requires_continuation",
        "other": "cancelled",
        "error": "cancelled",
    },
)
_ERRORS: Final[Mapping[int | None, str]] = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    409: "aborted",
    416: "out_of_range",
    429: "rate_limit_exceeded",
    499: "cancelled",
    500: "api_error",
    501: "unimplemented",
    503: "service_unavailable",
    504: "deadline_exceeded",
}
"""The error code for each HTTP status; any other status becomes `api_error`."""
_NO_MESSAGE: Final = "the provider gave no reason"
MEDIA: Final = frozenset({"image", "audio", "document", "video"})
_RESULT: Final = "_result"
_ANNOTATIONS: Final = frozenset({"url_citation", "file_citation", "place_citation", "speech_annotation"})


def is_own_citation(citation: Citation) -> bool:
    """Whether a citation is one of the API's annotations."""
    is_annotation = isinstance(citation.data, dict) and citation.data.get("type") in _ANNOTATIONS
    return is_annotation and CITATIONS.read(citation.data) == citation


def is_own_block(block: Other) -> bool:
    """Whether a block is a media item, or the result of one of Google's tools."""
    is_own = block.kind in MEDIA or block.kind.endswith(_RESULT)
    return is_own and isinstance(block.data, dict) and block.data.get("type") == block.kind


def encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the status, and its meaning."""
    status = choose_status(stop, called=any(is_client_call(block) for block in content))
    return status, STATUSES.meaning(status)


def choose_status(stop: Stop, *, called: bool) -> str:
    """Return the status: the raw one if the API defines it with the same meaning."""
    known = Stop(stop.reason, stop.raw if stop.raw in STOP_REASONS else None)
    return STATUSES.of(known, called=called)


def encode_error(error: Error) -> Error:
    """Return the error with one of the API's codes, and without an HTTP status, which its errors lack."""
    code = error.type if error.type in _ERRORS.values() else _ERRORS.get(error.status, "api_error")
    return Error(code, error.message or _NO_MESSAGE, None)


def encode_usage(usage: Usage | None) -> Usage | None:
    """Return the usage with the counts that the API has: cache writes count as input."""
    if usage is None:
        return None
    prompt = [count for count in (usage.input, usage.cache_write) if count is not None]
    output = usage.output if usage.reasoning is None else max(usage.output or 0, usage.reasoning)
    counts = Usage(
        input=sum(prompt) if prompt else None,
        cache_read=usage.cache_read,
        output=output,
        reasoning=usage.reasoning,
        web_searches=usage.web_searches,
    )
    return None if counts == Usage() else counts


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    Loss(
        "redacted",
        "redacted thinking",
        "omitted; if it has text, it becomes unsigned thinking",
        map_blocks(drop_redacted),
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
        "stop reasons that exist only in other APIs, `content_filter` and `refusal`",
        "the status for the reason; `incomplete` for `content_filter` and `refusal`, so that no client "
        "mistakes the answer for a complete one",
        map_stop(encode_stop),
    ),
    Loss(
        "usage",
        "cache writes; an output count below the reasoning count; the usage of an answer that failed or "
        "was cut off",
        "cache writes count as input; the output count is raised to the reasoning count; the usage of a "
        "failed answer is omitted",
        map_usage(encode_usage),
    ),
    FAILED_REASON,
    DOCUMENT_ERROR,
    Loss(
        "error",
        "error types that exist only in other APIs, and the HTTP status of an error",
        "the code for the status, otherwise `api_error`",
        map_error(encode_error),
    ),
)
