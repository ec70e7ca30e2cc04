"""`peer:openai-helper`: the OpenAI SDK's `stream()` helpers and the answers that they accumulate."""

from __future__ import annotations

from typing import Any

from streamconform_peers.openai import chat, responses


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run through the API's accumulating helper."""
    return chat.run_helper(run) if run.api == "openai-chat" else responses.run_helper(run)
