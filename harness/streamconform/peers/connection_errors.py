"""What providers' SDKs raise, for libraries that let it through: a lost connection, or a provider's error."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any, Final

import httpx
import openai

from streamconform.peers.normal_form import Error, at, raised

try:
    httpx2: Any = importlib.import_module("httpx2")
except ModuleNotFoundError:
    httpx2 = httpx

LOST: Final = (httpx.TransportError, httpx2.TransportError, openai.APIConnectionError, ConnectionError)


def lost(error: BaseException | None) -> bool:
    """Return whether an exception was raised for, or while handling, a lost connection."""
    while error is not None:
        if isinstance(error, (httpx.TransportError, httpx2.TransportError, ConnectionError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def told(error: Exception) -> Error:
    """Return the error that an exception tells: by its `body`, its `status_code`, its `message`."""
    status = next((found for name in ("status_code", "code") if type(found := at(error, name)) is int), None)
    body = at(error, "body")
    message = at(error, "message")
    if status is None and body is None and message is None:
        return raised(error)
    said = _said(body)
    kind = at(said, "type") or at(error, "type") or at(error, "status")
    words = at(said, "message") or at(error, "error") or message or str(error)
    return {
        "type": kind if isinstance(kind, str) else None,
        "message": words if isinstance(words, str) else str(words),
        "status": status if status is not None and status >= 400 else None,
    }


def _said(body: Any) -> Any:
    """Return the object that says what went wrong, under `error` in most documents."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    return at(body, "error") if isinstance(at(body, "error"), Mapping) else body
