"""Chat Completions through the OpenAI SDK: chunks as its guides add them up, and its accumulating helper.

Calls are added up by their index, as in the guide to function calling; only choice 0 is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import openai

from streamconform.peers.normal_form import Block, Error, at, call, less, outcome, say, text, words
from streamconform.peers.openai.errors import asked, client, told

STOPS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}


def raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.create(stream=True)`."""
    create = client(run).chat.completions.create
    content: list[Block] = []
    calls: dict[int | None, Block] = {}
    seen: dict[str, Any] = {}
    chunks: list[Any] = []
    error: Error | None = None
    try:
        for chunk in create(**words(create, asked(run) | {"stream": True})):
            chunks.append(chunk)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    for chunk in chunks:
        seen |= {name: at(chunk, name) for name in ("model", "id", "usage") if at(chunk, name)}
        for choice in [each for each in chunk.choices or [] if not at(each, "index")][:1]:
            say(content, "text", text(choice, "delta", "content"))
            say(content, "refusal", text(choice, "delta", "refusal"))
            for piece in at(choice, "delta", "tool_calls") or []:
                _add(content, calls, piece.index, piece)
            if at(choice, "delta", "function_call"):
                _add(content, calls, None, {"function": choice.delta.function_call})
            seen["stop"] = choice.finish_reason or seen.get("stop")
    return _outcome(content, seen.get("stop"), seen.get("usage"), seen, error)


def helper(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.stream()`: the completion that it has accumulated."""
    chat = client(run).chat.completions
    error: Error | None = None
    completion: Any = None
    try:
        with chat.stream(**words(chat.stream, asked(run))) as stream:
            for _ in stream:
                completion = stream.current_completion_snapshot
            completion = stream.get_final_completion()
    except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
        pass  # with tools that are strict it tells a stop reason so, which the completion has
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    choice = next(iter(at(completion, "choices") or []), None)
    message = at(choice, "message")
    content: list[Block] = []
    say(content, "text", text(message, "content"))
    say(content, "refusal", text(message, "refusal"))
    content += [
        call(text(each, "id"), text(each, "function", "name"), text(each, "function", "arguments"))
        for each in at(message, "tool_calls") or []
        if each is not None
    ]
    legacy = at(message, "function_call")
    content += [call(None, text(legacy, "name"), text(legacy, "arguments"))] if legacy else []
    seen = {"model": at(completion, "model"), "id": at(completion, "id")}
    return _outcome(content, at(choice, "finish_reason"), at(completion, "usage"), seen, error)


def _add(content: list[Block], calls: dict[int | None, Block], index: int | None, piece: Any) -> None:
    """Add a piece of a call to the call of its index; None is that of the field before there were several."""
    if index not in calls:
        calls[index] = call(text(piece, "id"), text(piece, "function", "name"), "")
        content.append(calls[index])
    calls[index]["arguments_text"] += text(piece, "function", "arguments")


def _outcome(
    content: list[Block], stop: str | None, usage: Any, seen: Mapping[str, Any], error: Error | None
) -> dict[str, Any]:
    content = [
        each
        if each["type"] != "tool_call"
        else call(each["id"], each["name"], each["arguments_text"], complete=bool(stop))
        for each in content
    ]
    cached = at(usage, "prompt_tokens_details", "cached_tokens")
    written = at(usage, "prompt_tokens_details", "cache_write_tokens")
    counts = {
        "input": less(at(usage, "prompt_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "output": at(usage, "completion_tokens"),
        "reasoning": at(usage, "completion_tokens_details", "reasoning_tokens"),
    }
    reason = STOPS.get(stop, "other") if stop else None
    return outcome(
        content, reason, stop, usage=counts, error=error, model=seen.get("model"), response_id=seen.get("id")
    )
