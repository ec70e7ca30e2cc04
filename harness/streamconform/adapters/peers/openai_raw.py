"""`peer:openai`: the OpenAI SDK, its streams of chunks and events as they come."""

from __future__ import annotations

from typing import Any

from streamconform.adapters.peers import openai_chat, openai_responses


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    return openai_chat.raw(run) if run.api == "openai-chat" else openai_responses.raw(run)
