"""`peer:mistralai`: Mistral's SDK, `chat.stream()`, on the Chat Completions that it is a dialect of.

Its api sends calls whole; a piece without an id, which the SDK gives as the text `null`, goes on with the
call of its index.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from mistralai.client import Mistral

from streamconform.peers.mistralai.errors import told
from streamconform.peers.normal_form import SECONDS, Block, at, call, less, outcome, say, words

STOPS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_use",
    "error": "error",
    "content_filter": "content_filter",
}


@cache
def client() -> Mistral:
    """Return the client of this process; each run's address goes with its request."""
    return Mistral(api_key="conform", timeout_ms=int(SECONDS * 1000))


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.stream()`."""
    stream = client().chat.stream
    given = words(stream, {"model": run.model, "messages": [], **(run.request or {})})
    for other in ("extra_body", "service_tier"):  # it has no door for what is not Mistral's
        given.pop(other, None)
    chunks: list[Any] = []
    error = None
    try:
        with stream(**given, server_url=run.base_url) as events:
            for event in events:
                chunks.append(event.data)  # noqa: PERF401 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
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
    cached = at(usage, "prompt_tokens_details", "cached_tokens")  # among its `additional_properties`
    written = at(usage, "prompt_tokens_details", "cache_write_tokens")
    counts = (
        {"input": less(usage.prompt_tokens, cached, written), "output": usage.completion_tokens}
        if usage
        else None
    )
    return outcome(
        blocks,
        STOPS.get(stop, "other") if stop else None,
        stop,
        usage=counts,
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
