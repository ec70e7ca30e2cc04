"""Distinguish lost connections from API errors in the SDK exceptions that libraries do not catch."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any, Final

import httpx
import openai

from streamconform.normal.blocks import Error, get
from streamconform_peers.library_call import describe_exception

# The SDKs of Anthropic, Google and Mistral use httpx2; an environment without those SDKs does not have it.
try:
    httpx2: Any = importlib.import_module("httpx2")
except ModuleNotFoundError:
    httpx2 = httpx

CONNECTION_ERRORS: Final = (
    httpx.TransportError,
    httpx2.TransportError,
    openai.APIConnectionError,
    ConnectionError,
)


def is_connection_lost(error: BaseException | None) -> bool:
    """Return whether an exception was raised for, or while handling, a lost connection."""
    while error is not None:
        if isinstance(error, (httpx.TransportError, httpx2.TransportError, ConnectionError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def describe_error(error: Exception) -> Error:
    """Build the error from an SDK exception's `body`, `status_code` and `message`."""
    # Google's `code` is the status, but OpenAI's is a text.
    status = next((value for name in ("status_code", "code") if type(value := get(error, name)) is int), None)
    body = get(error, "body")
    message = get(error, "message")
    if status is None and body is None and message is None:
        return describe_exception(error)
    details = _find_error_object(body)
    # Google's `status` is the error's name, such as `INVALID_ARGUMENT`.
    kind = get(details, "type") or get(error, "type") or get(error, "status")
    text = get(details, "message") or get(error, "error") or message or str(error)
    return {
        "type": kind if isinstance(kind, str) else None,
        "message": text if isinstance(text, str) else str(text),
        "status": status if status is not None and status >= 400 else None,
    }


def _find_error_object(body: Any) -> Any:
    """Return the object that describes the error: `error` in most documents, else the document itself."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    return get(body, "error") if isinstance(get(body, "error"), Mapping) else body
