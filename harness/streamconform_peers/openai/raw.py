"""`peer:openai`: the OpenAI SDK's raw chunks and events."""

from __future__ import annotations

from typing import Any

from streamconform_peers.openai import chat, responses


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run through the API's raw stream."""
    return chat.run_raw(run) if run.api == "openai-chat" else responses.run_raw(run)
