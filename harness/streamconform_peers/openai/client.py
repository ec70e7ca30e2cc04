"""The OpenAI SDK's client and requests."""

from __future__ import annotations

from functools import cache
from typing import Any

import openai

from streamconform_peers.normal_form import TIMEOUT_SECONDS


@cache
def _get_shared_client(api_key: str) -> openai.OpenAI:
    """Return the one client that all runs share: loading the certificates takes longer than a run."""
    return openai.OpenAI(api_key=api_key, max_retries=0, timeout=TIMEOUT_SECONDS)


def get_client(run: Any) -> openai.OpenAI:
    """Return the shared client with the run's address."""
    name = "base_url" if run.transport == "http" else "websocket_base_url"
    return _get_shared_client(run.api_key).with_options(**{name: f"{run.base_url}/v1"})


def build_request(run: Any) -> dict[str, Any]:
    """Return the run's request without `stream`, with defaults for fields that the SDK requires."""
    required = "messages" if run.api == "openai-chat" else "input"
    request = {"model": run.model, required: [], **(run.request or {})}
    return {name: value for name, value in request.items() if name != "stream"}
