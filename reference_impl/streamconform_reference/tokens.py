"""Estimate input tokens: every started four code points of a word count as one token.

The estimate is for a proxy in front of a server that cannot count tokens. It gives the right order of
magnitude without a tokenizer, and the same number for every model on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.json_text.codec import dumps

CHARACTERS_PER_TOKEN: Final = 4
"""Code points of a word that count as one token."""


def _count_text(text: str) -> int:
    """Return the estimated tokens of a text; words are separated by white space."""
    return sum(-(-len(word) // CHARACTERS_PER_TOKEN) for word in text.split())


def count_tokens(request: Mapping[str, Any]) -> int:
    """Return the estimated tokens of a request body for `/v1/messages` or `/v1/messages/count_tokens`.

    The system prompt, text, tool results, and tool inputs as compact JSON count; tools, images and
    thinking do not. Values of the wrong type are ignored.
    """
    messages = request.get("messages")
    return sum(
        _count_text(text)
        for text in (
            *_iterate_texts(request.get("system")),
            *(
                text
                for message in (messages if isinstance(messages, list) else ())
                if isinstance(message, Mapping)
                for text in _iterate_texts(message.get("content"))
            ),
        )
    )


def _iterate_texts(content: Any) -> Iterator[str]:
    """Yield the texts in a system prompt, a message's content or a tool result."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "text", "text": str(text)}:
                yield text
            case {"type": "tool_result", "content": result}:
                yield from _iterate_texts(result)
            case {"type": "tool_use", "input": tool_input}:
                yield dumps(tool_input).decode()
            case _:
                pass
