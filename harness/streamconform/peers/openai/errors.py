"""What the OpenAI SDK tells: `APIError` is the provider's, `APIConnectionError` a lost connection."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import openai

from streamconform.peers.normal_form import SECONDS, Error, at, raised


@cache
def _kept(api_key: str) -> openai.OpenAI:
    """Return the one client of all runs: to load the certificates takes longer than a run."""
    return openai.OpenAI(api_key=api_key, max_retries=0, timeout=SECONDS)


def client(run: Any) -> openai.OpenAI:
    """Return the client of a run."""
    return _kept(run.api_key).with_options(base_url=f"{run.base_url}/v1")


def asked(run: Any) -> dict[str, Any]:
    """Return the run's request without `stream`; what the SDK does not ask without is filled in."""
    needed = "messages" if run.api == "openai-chat" else "input"
    given = {"model": run.model, needed: [], **(run.request or {})}
    return {name: value for name, value in given.items() if name != "stream"}


NOTHING: Final = (openai.APIConnectionError,)
"""The connection was lost, or timed out: the library tells no error of the provider's."""


def told(error: Exception) -> Error | None:
    """Return the error that an exception of the SDK tells; None where the connection was lost."""
    if isinstance(error, NOTHING):
        return None
    if not isinstance(error, openai.APIError):
        return raised(error)
    message = at(error.body, "message")
    return {
        "type": error.type or error.code,
        "message": message if isinstance(message, str) else error.message,
        "status": getattr(error, "status_code", None),
    }
