"""A call that has no result goes back without any."""

from __future__ import annotations

from typing import Any

from streamconform_reference.requests.conversation import NO_RESULT

from ._asking import Asked, asking


def unanswered(asked: Asked, body: dict[str, Any]) -> None:
    """Take the results away that were made up."""
    del asked
    name, content = ("contents", "parts") if "contents" in body else ("messages", "content")
    for message in body[name]:
        if isinstance(message.get(content), list):
            message[content] = [block for block in message[content] if NO_RESULT not in str(block)]
    body[name] = [each for each in body[name] if each.get(content) not in ([], NO_RESULT)]


adapter = asking(
    "missing-result-left-out", "anthropic-messages", "google-generate", "openai-chat", sent=unanswered
)
