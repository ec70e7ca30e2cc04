"""`peer:openai`: the OpenAI SDK, its streams of chunks and events as they come."""

from __future__ import annotations

from typing import Any

from streamconform.peers.openai import chat, responses


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    return chat.raw(run) if run.api == "openai-chat" else responses.raw(run)
