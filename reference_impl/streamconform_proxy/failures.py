"""Answers that are one document: refusals, the upstream's failures, counts; each in the client's envelope.

Source: https://docs.claude.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform_reference.decoding.provider_errors import read_error_body
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error
from streamconform_reference.requests.errors import INVALID, RequestError
from streamconform_reference.requests.fields import read_objects, require_field
from streamconform_reference.tokens import count_tokens

from streamconform_proxy.translate import Asked, read_body

JSON: Final[Mapping[str, str]] = {"content-type": "application/json"}

TYPES: Final[Mapping[int, str]] = {
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
"""The type that a status is told with; any other is `invalid_request_error` below 500, else `api_error`."""

STATUSES: Final[Mapping[str, Mapping[int, int]]] = {
    "anthropic-messages": {503: 529},
    "openai-chat": {529: 503},
}
"""By the client's api: statuses of the upstream that it has another for."""

PASSED_ON: Final = ("retry-after", "retry-after-ms", "x-should-retry")
"""Headers that tell a client when to come back."""

BROKE_OFF: Final = "the upstream's answer broke off before its end"
_NOTHING_SAID: Final = "the upstream failed with status {status} and did not say why"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response to the client; `headers` has its content type."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def refused(api: str, error: RequestError, headers: Mapping[str, str] | None = None) -> Answer:
    """Return the answer to a client of this api whose request is not served.

    Also for what the server itself finds: no such path (404, `not_found_error`), another method (405,
    `invalid_request_error`), a body that is too large (413, `request_too_large`), an upstream that
    cannot be reached (502, `api_error`), that is silent for too long (504, `timeout_error`) or a server
    that is stopping (503, `overloaded_error`).
    """
    status = STATUSES[api].get(error.status, error.status)
    document = envelope(api, error.type, error.message)
    return Answer(status, {**JSON, **(headers or {})}, codec.dumps(document))


def failed(asked: Asked, *, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer for an upstream that answered with this status of 400 or above.

    The status is the upstream's where the client's api has it; when to come back is passed on.
    """
    said = read_error_body(body, status)
    kept = {name: headers[name] for name in PASSED_ON if name in headers}
    words = said.message or _NOTHING_SAID.format(status=status)
    return refused(asked.route.client, RequestError(status, type_of(status), words), kept)


def counted(body: bytes) -> Answer:
    """Return the answer to `POST /v1/messages/count_tokens`; nothing is asked of the upstream.

    Raises:
        RefusedError: the body is not JSON, or has no messages.
    """
    asked = read_body(body)
    require_field(asked, "model", "name")
    require_field(asked, "messages", "list")
    for _ in read_objects(asked, "messages"):
        pass
    return Answer(200, JSON, codec.dumps({"input_tokens": count_tokens(asked)}))


def type_of(status: int) -> str:
    """Return the type of a failure with this status."""
    return TYPES.get(status, INVALID if status < 500 else "api_error")


def as_told(error: Error | None) -> Error:
    """Return what a client is told of an upstream that failed in mid-stream, or broke off.

    The type is the upstream's where it is one that clients know, else that of its status.
    """
    if error is None:
        return Error("api_error", BROKE_OFF, 502)
    known = error.type in TYPES.values()
    kind = error.type if known else type_of(error.status or 502)
    status = error.status or next((each for each, word in TYPES.items() if known and word == kind), 502)
    return Error(kind, error.message or _NOTHING_SAID.format(status=status), status)


def envelope(api: str, kind: str, message: str) -> dict[str, Any]:
    """Return the document of an error, in the words of an api."""
    if api == "anthropic-messages":
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
