"""`peer:mistralai`: Mistral's SDK, `chat.stream()`, on the Chat Completions that it is a dialect of.

Its api sends calls whole; a piece without an id, which the SDK gives as the text `null`, goes on with the
call of its index. `MistralError` is the provider's error where its status is one; else the SDK refuses the
stream's bytes by it. While it reads, `httpx` tells a lost connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx2
from mistralai.client import Mistral
from mistralai.client.errors import MistralError

from streamconform.adapters.peers.normal import SECONDS, Block, Error, at, call, outcome, raised, say, words

STOPS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_use",
    "error": "error",
    "content_filter": "content_filter",
}


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.stream()`."""
    client = Mistral(api_key=run.api_key, server_url=run.base_url, timeout_ms=int(SECONDS * 1000))
    given = words(client.chat.stream, run.request)
    given.pop("extra_body", None)  # it has no door for what it does not know
    chunks: list[Any] = []
    error: Error | None = None
    try:
        with client.chat.stream(**given) as stream:
            for event in stream:
                chunks.append(event.data)  # noqa: PERF401 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = _told(thrown)
    content: list[Block] = []
    calls: dict[int | None, Block] = {}
    stop: str | None = None
    usage: Any = None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in [each for each in chunk.choices if not each.index]:
            _say(content, choice.delta.content)
            for piece in choice.delta.tool_calls or []:
                _add(content, calls, piece)
            stop = choice.finish_reason or stop
    blocks = [
        each
        if each["type"] != "tool_call"
        else call(each["id"], each["name"], each["given"], complete=bool(stop))
        for each in content
    ]
    return outcome(
        blocks,
        STOPS.get(stop, "other") if stop else None,
        stop,
        usage={"input": usage.prompt_tokens, "output": usage.completion_tokens} if usage else None,
        error=error,
        model=at(chunks[0], "model") if chunks else None,
        response_id=at(chunks[0], "id") if chunks else None,
    )


def _say(content: list[Block], given: Any) -> None:
    """Add text, or parts of text and thinking."""
    for part in [given] if isinstance(given, str) else given or []:
        if isinstance(part, str):
            say(content, "text", part)
        elif at(part, "type") == "text":
            say(content, "text", part.text)
        elif at(part, "type") == "thinking":
            for each in part.thinking:
                say(content, "thinking", at(each, "text"))


def _add(content: list[Block], calls: dict[int | None, Block], piece: Any) -> None:
    given = piece.function.arguments
    known = calls.get(piece.index)
    if known is not None and piece.id in {known["id"], "null", None}:
        known["given"] = known["given"] + given if isinstance(given, str) else given
        return
    id_ = None if piece.id == "null" else piece.id
    calls[piece.index] = {"type": "tool_call", "id": id_, "name": piece.function.name, "given": given}
    content.append(calls[piece.index])


def _told(error: Exception) -> Error | None:
    if isinstance(error, httpx2.TransportError):
        return None
    if not isinstance(error, MistralError) or error.status_code < 400:
        return raised(error) | ({"type": "protocol"} if isinstance(error, MistralError) else {})
    try:
        body = json.loads(error.body)
    except ValueError:
        body = None
    told = at(body, "error") if isinstance(at(body, "error"), Mapping) else body
    return {
        "type": at(told, "type"),
        "message": at(told, "message") or error.message,
        "status": error.status_code,
    }
