"""`peer:openai-helper`: the OpenAI SDK, what its `stream()` accumulates."""

from __future__ import annotations

from typing import Any

from streamconform.peers.openai import chat, responses


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    return chat.helper(run) if run.api == "openai-chat" else responses.helper(run)
