"""The errors of Mistral's SDK: a `MistralError` with an error status is the provider's error.

With any other status, it means that the SDK rejected the stream's bytes. `httpx2` exceptions raised while
reading mean a lost connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx2
from mistralai.client.errors import MistralError

from streamconform.normal.blocks import Error, get
from streamconform_peers.library_call import describe_exception


def describe_error(error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost."""
    if isinstance(error, httpx2.TransportError):
        return None
    if not isinstance(error, MistralError) or error.status_code < 400:
        return describe_exception(error) | ({"type": "protocol"} if isinstance(error, MistralError) else {})
    try:
        body = json.loads(error.body)
    except ValueError:
        body = None
    details = get(body, "error") if isinstance(get(body, "error"), Mapping) else body
    return {
        "type": get(details, "type"),
        "message": get(details, "message") or error.message,
        "status": error.status_code,
    }
