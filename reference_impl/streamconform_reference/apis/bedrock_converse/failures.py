"""Read Bedrock's errors, both from stream messages and from failed responses, as an `Error`.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
for the exceptions and their HTTP statuses, and botocore 1.44.5 for the headers.

- A message of type `exception` names the exception in `:exception-type`; its payload contains the message. A
  message of type `error` has everything in its headers; its payload may be empty.
- `modelStreamErrorException` may contain only `originalMessage`, the message from the model's own server.
- A failed response names its type in the header `x-amzn-errortype`, or in the document's `__type`, possibly
  followed by a URL or preceded by a namespace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.provider_errors import find_document, read_error, read_error_body
from streamconform_reference.framing import Frame, HeaderValue
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error

EXCEPTIONS: Final[Mapping[str, int]] = {
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "modelTimeoutException": 408,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}
FAILURES: Final = ("exception", "error")
_LONGEST_EXCERPT: Final = 500


def read_failed_message(frame: Frame) -> Error:
    """Return the error in a message of type `exception` or `error`."""
    headers = frame.headers or {}
    try:
        document = codec.loads(frame.data)
    except codec.NotJsonError:
        document = {"message": frame.data.decode("utf-8", "replace")[:_LONGEST_EXCERPT]}
    kind = _read_text_header(headers, ":exception-type") or _read_text_header(headers, ":error-code")
    error = read_exception(kind, document if isinstance(document, dict) else {})
    return replace(error, message=_read_text_header(headers, ":error-message") or error.message)


def read_exception(kind: str | None, payload: Payload) -> Error:
    """Return the error for an exception with this name and payload."""
    error = read_error(payload)
    original = payload.get("originalMessage")
    return Error(
        type=kind or error.type,
        message=error.message or (original if isinstance(original, str) and original else None),
        status=EXCEPTIONS.get(kind or ""),
    )


def read_failed_response(document: bytes, status: int, headers: Mapping[str, str]) -> Error:
    """Return the error for a failed response, with the type from its headers if they contain one."""
    error = read_error_body(document, status)
    return replace(
        error, type=_strip_name(headers.get("x-amzn-errortype")) or error.type or _read_type(document)
    )


def _read_type(document: bytes) -> str | None:
    payload = find_document(document)
    kind = payload.get("__type") if isinstance(payload, dict) else None
    return _strip_name(kind) if isinstance(kind, str) else None


def _strip_name(name: str | None) -> str | None:
    """Return `ValidationException` for `aws.bedrock#ValidationException:http://…`."""
    return (name or "").partition(":")[0].rpartition("#")[2].strip() or None


def _read_text_header(headers: Mapping[str, HeaderValue], name: str) -> str | None:
    value = headers.get(name)
    return value if isinstance(value, str) and value else None
