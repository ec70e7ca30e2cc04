"""Read error documents and error frames from any provider as an `Error`.

Gateways wrap errors in each other's envelopes, so all forms are read wherever an error can occur:
`{"type":"error","error":{"type","message"}}` (Anthropic), `{"error":{"message","type","code"}}`
(OpenAI), `{"error":{"code":400,"message","status":"INVALID_ARGUMENT"}}` (Google),
`{"error":"text"}` (Ollama), `{"message":"text"}` (Cohere, AWS), `{"detail":"text"}` (FastAPI).

Source: https://docs.claude.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes,
https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error

PROTOCOL: Final = "protocol"

_TYPE_KEYS: Final = ("type", "code", "status")
_MESSAGE_KEYS: Final = ("message", "Message", "msg", "detail")  # AWS uses both spellings
_STATUS_KEYS: Final = ("status_code", "http_code", "status", "code")
# Groq's model output that could not be read as a call: https://console.groq.com/docs/tool-use
_DETAIL_KEYS: Final = ("failed_generation",)
_HTTP_ERROR: Final = 400
_HTTP_LIMIT: Final = 600
_BLANK_LINE: Final = re.compile(rb"(?:\r\n|\n|\r){2}")
# A name before data, and any other line of an event stream.
_FIELD: Final = re.compile(rb"^(?:data:|(?:event|id|retry)?:[^\r\n]*)", re.MULTILINE)
_EXCERPT: Final = 500  # characters kept of a body that is not JSON: enough for a proxy's message


def protocol_error(message: str) -> Error:
    """Return the error for a stream that does not follow its API's documentation."""
    return Error(PROTOCOL, message, None)


def read_error(payload: Any, *, status: int | None = None, type_keys: tuple[str, ...] = _TYPE_KEYS) -> Error:
    """Return the error that the payload describes, with `status` if the payload contains no HTTP status.

    Fields that the inner object omits are read from its envelope, except the frame's type.
    """
    envelope = payload if isinstance(payload, dict) else {}
    inner = envelope.get("error")
    detail = inner if isinstance(inner, dict) else {}
    kind = envelope.get("type")
    outer = {
        key: value for key, value in envelope.items() if key != "type" or not (detail or kind == "error")
    }
    message_text = inner if isinstance(inner, str) and inner else None
    return Error(
        type=_first_text(detail, type_keys) or _first_text(outer, type_keys),
        message=message_text or _first_text(detail, _MESSAGE_KEYS) or _first_text(outer, _MESSAGE_KEYS),
        status=_http_status(detail) or _http_status(envelope) or status,
        details={key: detail[key] for key in _DETAIL_KEYS if detail.get(key)} or None,
    )


def read_error_body(body: bytes, status: int) -> Error:
    """Return the error that the body of a response describes, if the body is not a stream.

    A failed response without a readable document has no type. A response that claims success but is
    not a stream is a `protocol` error, unless its document names an error.
    """
    failed = status >= _HTTP_ERROR
    document = find_document(body)
    if document is None:
        excerpt = " ".join(body.decode("utf-8", "replace").split())[:_EXCERPT] or None
        if failed:
            return Error(None, excerpt, status)
        data_kind = f"the body is not a stream: {excerpt}" if excerpt else "the body is empty"
        return Error(PROTOCOL, data_kind, None)
    error = read_error(document, status=status if failed else None)
    if failed or (isinstance(document, dict) and document.get("error")):
        return error
    return Error(PROTOCOL, error.message or "the body is a single JSON document, not a stream", None)


def find_document(body: bytes) -> Any:
    """Return the JSON document of a body, or None if it has none.

    Gateways also send it as the first event of a stream, after comments, or alone in a list.
    """
    for text in (body.strip(), _strip_fields(body)):
        try:
            document = codec.loads(text)
        except codec.NotJsonError:
            continue
        alone = isinstance(document, list) and len(document) == 1
        return document[0] if alone else document
    return None


def _strip_fields(body: bytes) -> bytes:
    """Return the data of the first event that has any, or nothing."""
    events = _BLANK_LINE.split(body.strip())
    return next(filter(None, (_FIELD.sub(b"", event).strip() for event in events)), b"")


def _first_text(mapping: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((v for key in keys if isinstance(v := mapping.get(key), str) and v), None)


def _http_status(mapping: dict[str, Any]) -> int | None:
    numbers = (mapping.get(key) for key in _STATUS_KEYS)
    return next((n for n in numbers if type(n) is int and _HTTP_ERROR <= n < _HTTP_LIMIT), None)
