"""Read the error that a provider describes in a response body, for SDKs that expose only the response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streamconform.normal.blocks import Error, get


def build_error(body: Any, *, message: str, status: int | None) -> Error:
    """Return the error that a document describes; `message` is used if the document has none.

    The description is the value of `error` in most documents; otherwise, it is the document itself.
    """
    details = get(body, "error") if isinstance(get(body, "error"), Mapping) else body
    kind = get(details, "type") or get(details, "code")
    text = get(details, "message")
    return {
        "type": kind if isinstance(kind, str) else None,
        "message": text if isinstance(text, str) else message,
        "status": status if status is not None and status >= 400 else None,
    }


def parse_document(text: str) -> Any:
    """Return a response body's JSON value, or None if the body is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None
