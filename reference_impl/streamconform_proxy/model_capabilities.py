"""Decide which models support thinking, and handle requests for thinking from other models.

Before a request is sent, only the model's name is known, so a table of name prefixes decides. Some of the
accepted names belong to models without thinking: their server rejects the request, and the proxy retries
without thinking.

Sources: https://docs.ollama.com/capabilities/thinking, and the Ollama server's error messages in
https://github.com/ollama/ollama/blob/main/server/routes.go
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from streamconform_reference.decoding.provider_errors import read_error_body
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import RequestError

THINKING_CAPABLE: Final = ("qwen3", "deepseek-r1", "magistral", "nemotron", "glm4", "qwq")
"""Name prefixes of models that can think; the tag and the namespace are ignored."""

EXCEPTIONS: Final[Mapping[str, str]] = {
    "qwen3-coder*": "the code models have no thinking mode",
    "qwen3*instruct*": "instruct models are the variants without thinking",
}
"""Patterns for tagged names that match a prefix although the model cannot think, each with the reason."""

NOT_SUPPORTED: Final = "thinking_not_supported"
"""The error type of the rejection."""

CHECKED_UPSTREAMS: Final = frozenset({"ollama-chat"})
"""The upstream APIs whose models the table covers."""

# Parts of the messages that servers send when they reject only the thinking option.
_REFUSALS: Final = (
    "does not support thinking",
    "think value",
    "thinking is not supported",
    "reasoning_effort",
)
_REFUSAL_STATUSES: Final = frozenset({400, 422})


def can_think(model: str) -> bool:
    """Return whether a model supports thinking, judging by its name."""
    name_and_tag = model.lower().rpartition("/")[2]
    if any(fnmatchcase(name_and_tag, pattern) for pattern in EXCEPTIONS):
        return False
    return name_and_tag.partition(":")[0].startswith(THINKING_CAPABLE)


def check_thinking(conversation: Json, upstream: str) -> Json:
    """Return the conversation; `thinking: off` is removed for a model that cannot think anyway.

    Raises:
        RequestError: the conversation requests thinking from such a model.
    """
    if (
        upstream not in CHECKED_UPSTREAMS
        or "thinking" not in conversation
        or can_think(conversation["model"])
    ):
        return conversation
    if conversation["thinking"] != "off":
        known = ", ".join(THINKING_CAPABLE)
        raise RequestError(
            400,
            NOT_SUPPORTED,
            f"thinking: model `{conversation['model']}` does not support it; models whose names start with "
            f"{known} do. Leave out `thinking`, or use one of them.",
        )
    return {key: value for key, value in conversation.items() if key != "thinking"}


def is_thinking_refusal(status: int, body: bytes) -> bool:
    """Return whether the upstream rejected a request because the model does not support thinking."""
    if status not in _REFUSAL_STATUSES:
        return False
    message = (read_error_body(body, status).message or "").lower()
    return any(text in message for text in _REFUSALS)
