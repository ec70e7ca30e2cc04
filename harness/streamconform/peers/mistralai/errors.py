"""What Mistral's SDK tells: `MistralError` is the provider's error where its status is one.

Else the SDK refuses the stream's bytes by it. While it reads, `httpx` tells a lost connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx2
from mistralai.client.errors import MistralError

from streamconform.peers.normal_form import Error, at, raised


def told(error: Exception) -> Error | None:
    """Return the error that an exception of the SDK tells; None where the connection was lost."""
    if isinstance(error, httpx2.TransportError):
        return None
    if not isinstance(error, MistralError) or error.status_code < 400:
        return raised(error) | ({"type": "protocol"} if isinstance(error, MistralError) else {})
    try:
        body = json.loads(error.body)
    except ValueError:
        body = None
    said = at(body, "error") if isinstance(at(body, "error"), Mapping) else body
    return {
        "type": at(said, "type"),
        "message": at(said, "message") or error.message,
        "status": error.status_code,
    }
