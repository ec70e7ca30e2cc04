"""What the OpenAI SDK tells: `APIError` is the provider's, `APIConnectionError` a lost connection."""

from __future__ import annotations

from typing import Any, Final

import openai

from streamconform.adapters.peers.normal import SECONDS, Error, at, raised


def client(run: Any) -> openai.OpenAI:
    """Return the client of a run."""
    return openai.OpenAI(base_url=f"{run.base_url}/v1", api_key=run.api_key, max_retries=0, timeout=SECONDS)


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
