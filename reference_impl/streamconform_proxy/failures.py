"""Build responses that are single documents: rejections, upstream failures, token counts.

Source: https://docs.claude.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform_proxy.redaction import get_secret, redact
from streamconform_proxy.translate import UpstreamRequest, read_body
from streamconform_reference.decoding.provider_errors import read_error_body
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error
from streamconform_reference.requests.errors import INVALID, RequestError
from streamconform_reference.requests.fields import read_objects, require_field
from streamconform_reference.tokens import count_tokens

JSON_HEADERS: Final[Mapping[str, str]] = {"content-type": "application/json"}

ERROR_TYPES: Final[Mapping[int, str]] = {
    400: INVALID,
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The error type by status; others are `invalid_request_error` below 500 and `api_error` from 500 up."""

STATUS_CHANGES: Final[Mapping[str, Mapping[int, int]]] = {
    "anthropic-messages": {503: 529},
    "openai-chat": {529: 503},
}
"""By the client's API: statuses that an upstream may send, and the status that this API uses instead."""

RETRY_HEADERS: Final = ("retry-after", "retry-after-ms", "x-should-retry")
"""The upstream's headers that tell a client when to retry; they are passed on."""

MAX_RETRY_HEADER: Final = 100
"""The maximum length of such a header; longer ones are not passed on."""

ENDED_EARLY: Final = "the upstream's answer ended too early"
_NO_REASON: Final = "the upstream failed with status {status} and gave no reason"


@dataclass(frozen=True, slots=True)
class DocumentResponse:
    """A complete response to the client; `headers` contains its content type."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def build_refusal(
    api: str, error: RequestError, headers: Mapping[str, str] | None = None
) -> DocumentResponse:
    """Return the response to a request that is not served, in the error format of the client's API.

    The server also uses it for its own errors: unknown path (404, `not_found_error`), wrong method (405,
    `invalid_request_error`), body too large (413, `request_too_large`), upstream unreachable (502,
    `api_error`) or silent for too long (504, `timeout_error`), server stopping (503, `overloaded_error`).
    """
    status = STATUS_CHANGES[api].get(error.status, error.status)
    document = _build_error_document(api, error.type, error.message)
    return DocumentResponse(status, {**JSON_HEADERS, **(headers or {})}, codec.dumps(document))


def build_upstream_failure(
    request: UpstreamRequest, *, status: int, headers: Mapping[str, str], body: bytes
) -> DocumentResponse:
    """Return the response for an upstream that answered with `status`, which is 400 or above.

    It has the upstream's status, if the client's API uses that status, and the upstream's retry headers.
    """
    error = read_error_body(body, status)
    secret = get_secret(request.route)
    retry_headers = {
        name: redact(headers[name], secret) for name in RETRY_HEADERS if is_plain(headers.get(name, "\n"))
    }
    message = redact(error.message or _NO_REASON.format(status=status), secret)
    return build_refusal(
        request.route.client, RequestError(status, get_error_type(status), message), retry_headers
    )


def is_plain(value: str) -> bool:
    """Return whether a header's value can be passed on: printable ASCII of limited length."""
    return value.isascii() and value.isprintable() and len(value) <= MAX_RETRY_HEADER


def build_token_count(body: bytes) -> DocumentResponse:
    """Return the response to `POST /v1/messages/count_tokens`, an estimate made without the upstream.

    Raises:
        RequestError: the body is not JSON, or has no messages.
    """
    request = read_body(body)
    require_field(request, "model", "name")
    require_field(request, "messages", "list")
    for _ in read_objects(request, "messages"):
        pass
    return DocumentResponse(200, JSON_HEADERS, codec.dumps({"input_tokens": count_tokens(request)}))


def get_error_type(status: int) -> str:
    """Return the error type for a status."""
    return ERROR_TYPES.get(status, INVALID if status < 500 else "api_error")


def normalize_error(error: Error | None) -> Error:
    """Return the client's error for an upstream that failed mid-stream or, given None, ended too early.

    Its type is the upstream's error type if clients know it, or else the type for its status.
    """
    if error is None:
        return Error("api_error", ENDED_EARLY, 502)
    is_known = error.type in ERROR_TYPES.values()
    kind = error.type if is_known else get_error_type(error.status or 502)
    status = error.status or next(
        (known for known, type_ in ERROR_TYPES.items() if is_known and type_ == kind), 502
    )
    return Error(kind, error.message or _NO_REASON.format(status=status), status)


def _build_error_document(api: str, kind: str, message: str) -> dict[str, Any]:
    if api == "anthropic-messages":
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
