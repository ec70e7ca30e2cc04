"""`peer:openai-helper`: the OpenAI SDK, what its `stream()` accumulates."""

from __future__ import annotations

from typing import Any

from streamconform.adapters.peers import openai_chat, openai_responses


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    return openai_chat.helper(run) if run.api == "openai-chat" else openai_responses.helper(run)
