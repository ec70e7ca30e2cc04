"""Estimate input tokens: one token per four code points of each word, rounded up.

The estimate is meant for a proxy in front of a server that cannot count tokens. It uses no tokenizer, so it
is only the right order of magnitude, but it is the same for every model on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.image_size import count_image
from streamconform_reference.json_text.codec import dumps

CHARACTERS_PER_TOKEN: Final = 4
"""The number of code points that count as one token."""


def _count_text(text: str) -> int:
    """Return the estimated number of tokens in a text; words are separated by whitespace."""
    return sum(-(-len(word) // CHARACTERS_PER_TOKEN) for word in text.split())


def count_tokens(request: Mapping[str, Any]) -> int:
    """Return the estimate for the body of a request to `/v1/messages` or `/v1/messages/count_tokens`.

    The system prompt, text, tool results, tools, and tool inputs (as compact JSON) count as text. Images
    count by size, and thinking does not count. Values of the wrong type are ignored.
    """
    messages = request.get("messages")
    contents = [
        message.get("content")
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping)
    ]
    return sum(
        _count_text(text)
        for text in (
            *_iterate_texts(request.get("system")),
            *_iterate_tool_texts(request.get("tools")),
            *(text for content in contents for text in _iterate_texts(content)),
        )
    ) + sum(count_image(source) for content in contents for source in _iterate_images(content))


def _iterate_tool_texts(tools: Any) -> Iterator[str]:
    """Yield the parts of each tool that the model sees: name, description, and schema as compact JSON."""
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, Mapping):
            yield from (text for key in ("name", "description") if isinstance(text := tool.get(key), str))
            if isinstance(schema := tool.get("input_schema"), Mapping):
                yield dumps(schema).decode()


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


def _iterate_images(content: Any) -> Iterator[Any]:
    """Yield the image sources in a message's content or a tool result."""
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "image", "source": source}:
                yield source
            case {"type": "tool_result", "content": result}:
                yield from _iterate_images(result)
            case _:
                pass
