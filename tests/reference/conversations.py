"""Parts of conversations, and helpers to build requests from them."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import build_request

APIS = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-generate",
    "google-interactions",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
)
MODELS = {
    "anthropic-messages": "claude-sonnet-5-5",
    "bedrock-converse": "anthropic.claude-sonnet-5-5-v1:0",
    "bedrock-invoke": "anthropic.claude-sonnet-5-5-v1:0",
    "cohere-chat": "command-a-reasoning",
    "google-generate": "gemini-3-pro",
    "google-interactions": "gemini-3-pro",
    "ollama-chat": "qwen3",
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
}

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "weather", "description": "Tells the weather.", "parameters": CITY}
NOW: dict[str, Any] = {"name": "now", "parameters": {}}
IMAGE = {"type": "image", "media_type": "image/png", "data": "iVBORw0="}
IMAGE_URL = "data:image/png;base64,iVBORw0="


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str | None = None, *, redacted: bool = False) -> dict[str, Any]:
    return {"type": "thinking", "text": words, "signature": signature, "redacted": redacted}


def call(number: str, name: str = "weather", arguments: Any = None, **more: Any) -> dict[str, Any]:
    value = {"city": "Metz"} if arguments is None and "arguments_text" not in more else arguments
    return {
        "type": "tool_call",
        "id": number,
        "name": name,
        "arguments": value,
        "arguments_text": None,
        "complete": True,
        "executor": "client",
        **more,
    }


def other(kind: str, data: Any) -> dict[str, Any]:
    return {"type": "other", "kind": kind, "data": data}


def user(content: Any = "Hello") -> dict[str, Any]:
    return {"role": "user", "content": content}


def answer(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **more}


def result(number: str, content: Any = "sunny", name: str = "weather", **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "content": content, **more}


def results(*each: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "results": list(each)}


def request_body(api: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the body of the request for these messages."""
    return whole(api, *messages, **more)["body"]


def whole(api: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the request for these messages."""
    conversation = {"model": MODELS[api], "messages": list(messages or (user(),)), **more}
    request = build_request(api, conversation)
    assert isinstance(request, dict)
    return request


def request_messages(api: str, *messages: dict[str, Any], **more: Any) -> list[Any]:
    """Return the messages of the request, under the API's name for them."""
    body = request_body(api, *messages, **more)
    sent = next(body[key] for key in ("messages", "contents", "input") if key in body)
    assert isinstance(sent, list)
    return sent
