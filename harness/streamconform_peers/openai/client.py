"""The OpenAI SDK's client and requests."""

from __future__ import annotations

from typing import Any

import openai

from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS


@control.keep_clients
def _get_shared_client(make: Any, api_key: str, **retries: int) -> Any:
    """Return the one client that all runs share: loading the certificates takes longer than a run."""
    return make(api_key=api_key, timeout=TIMEOUT_SECONDS, **retries)


def get_client(run: Any, make: Any = openai.OpenAI) -> Any:
    """Return the shared client of the class `make`, with the run's address."""
    client = _get_shared_client(make, run.api_key, **control.turn_off_retries(run, max_retries=0))
    name = "base_url" if run.transport == "http" else "websocket_base_url"
    return client.with_options(**{name: f"{run.base_url}/v1"})


def get_async_client(run: Any) -> Any:
    """Return the shared asynchronous client, with the run's address."""
    return get_client(run, openai.AsyncOpenAI)


def build_request(run: Any) -> dict[str, Any]:
    """Return the run's request without `stream`, with defaults for fields that the SDK requires."""
    required = "messages" if run.api == "openai-chat" else "input"
    request = {"model": run.model, required: [], **(run.request or {})}
    return {name: value for name, value in request.items() if name != "stream"}
