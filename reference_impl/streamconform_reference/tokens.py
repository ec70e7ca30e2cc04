"""An estimate of input tokens: words, and chunks of four code points of longer ones.

What it is for is a proxy in front of a server that cannot count: a number of the right order, which no
tokeniser is asked for. It is the same for every model, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.json_text.codec import dumps

CHUNK: Final = 4
"""Code points of a word that count as one token."""


def count_text(text: str) -> int:
    """Return how many chunks the words of `text` have; words are what stands between white space."""
    return sum(-(-len(word) // CHUNK) for word in text.split())


def count_tokens(request: Mapping[str, Any]) -> int:
    """Return the estimate for the body of a request to `/v1/messages` or `/v1/messages/count_tokens`.

    The system prompt, text, results of tools, and inputs of calls as compact JSON count; tools, images and
    thinking do not. What is not in the api's form counts nothing.
    """
    messages = request.get("messages")
    return sum(
        count_text(text)
        for text in (
            *_texts(request.get("system")),
            *(
                each
                for message in (messages if isinstance(messages, list) else ())
                if isinstance(message, Mapping)
                for each in _texts(message.get("content"))
            ),
        )
    )


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a system prompt, of a message's content or of a tool's result."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "text", "text": str(text)}:
                yield text
            case {"type": "tool_result", "content": result}:
                yield from _texts(result)
            case {"type": "tool_use", "input": given}:
                yield dumps(given).decode()
            case _:
                pass
