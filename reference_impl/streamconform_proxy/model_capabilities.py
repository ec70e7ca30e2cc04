"""Which models think, and what is done where thinking is asked of another.

Names are all there is before a model is asked: the table is of name beginnings, and some of the names that it
lets through are of models that do not think. Their server says so, and they are asked again without.

Source: https://docs.ollama.com/capabilities/thinking, and the words of its server in
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
"""What the names of models that think begin with; tag and namespace do not count."""

NOT_CAPABLE: Final[Mapping[str, str]] = {
    "qwen3-coder*": "the models for code have no thinking mode",
    "qwen3*instruct*": "instruct models are those without thinking",
}
"""Names and tags that begin so, of models that do not think all the same, and why."""

NOT_SUPPORTED: Final = "thinking_not_supported"
"""The type of the refusal."""

GATED: Final = frozenset({"ollama-chat"})
"""The upstream apis whose models the table is about."""

# What servers say of a request that would have been served without a word about thinking.
_REFUSALS: Final = (
    "does not support thinking",
    "think value",
    "thinking is not supported",
    "reasoning_effort",
)
_REFUSING: Final = frozenset({400, 422})


def thinks(model: str) -> bool:
    """Whether a model of this name thinks, as far as names tell."""
    tagged = model.lower().rpartition("/")[2]
    if any(fnmatchcase(tagged, pattern) for pattern in NOT_CAPABLE):
        return False
    return tagged.partition(":")[0].startswith(THINKING_CAPABLE)


def gated(conversation: Json, upstream: str) -> Json:
    """Return the conversation, without a needless word about thinking to a model that does not think.

    Raises:
        RefusedError: it asks such a model to think.
    """
    if upstream not in GATED or "thinking" not in conversation or thinks(conversation["model"]):
        return conversation
    if conversation["thinking"] != "off":
        known = ", ".join(THINKING_CAPABLE)
        raise RequestError(
            400,
            NOT_SUPPORTED,
            f"thinking: `{conversation['model']}` does not think; models whose names begin with {known} do. "
            "Leave `thinking` out, or ask one of them.",
        )
    return {key: value for key, value in conversation.items() if key != "thinking"}


def thinking_refused(status: int, body: bytes) -> bool:
    """Whether the upstream refused because the model does not think, so that it is asked again without."""
    if status not in _REFUSING:
        return False
    said = (read_error_body(body, status).message or "").lower()
    return any(words in said for words in _REFUSALS)
