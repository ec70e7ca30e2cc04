"""The Anthropic SDK's client, requests, errors and usage.

`APIStatusError` is the provider's error, even in the middle of a stream.
"""

from __future__ import annotations

from typing import Any, Final

import anthropic
import httpx2

from streamconform.normal.blocks import Error, get
from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS, describe_exception

CONNECTION_ERRORS: Final = (httpx2.TransportError, anthropic.APIConnectionError)
"""While the SDK reads a stream, it does not catch the HTTP library's exceptions."""


@control.keep_clients
def _get_shared_client(make: Any, **settings: Any) -> Any:
    return make(api_key="none", timeout=TIMEOUT_SECONDS, **settings)


def get_client(run: Any, make: Any = anthropic.Anthropic, **settings: Any) -> Any:
    """Return the process's client of the class `make`, set to the run's address and key."""
    shared = _get_shared_client(make, **control.turn_off_retries(run, max_retries=0), **settings)
    return shared.with_options(base_url=run.base_url, api_key=run.api_key)


def build_request(run: Any) -> dict[str, Any]:
    """Return the run's request, with defaults for missing fields that the SDK requires."""
    return {"model": run.model, "max_tokens": 1, "messages": [], **(run.request or {})}


def describe_error(error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost."""
    if isinstance(error, CONNECTION_ERRORS):
        return None
    if not isinstance(error, anthropic.APIStatusError):
        return describe_exception(error)
    message = get(error.body, "error", "message")
    return {
        "type": get(error.body, "error", "type"),
        "message": message if isinstance(message, str) else error.message,
        # For an error event, the SDK reports the response's status, 200, which is not the error's.
        "status": error.status_code if error.status_code >= 400 else None,
    }
