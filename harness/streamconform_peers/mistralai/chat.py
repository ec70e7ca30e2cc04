"""`peer:mistralai`: Mistral's dialect of Chat Completions through Mistral's SDK, with `chat.stream()`.

Mistral's API sends complete calls; a piece without an id, for which the SDK returns the string `null`,
continues the call at its index.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from mistralai.client import Mistral

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Block, append_text, build_call, build_outcome, get
from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper
from streamconform_peers.mistralai.errors import describe_error

STOP_REASONS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_use",
    "error": "error",
    "content_filter": "content_filter",
}


@cache
def get_client() -> Mistral:
    """Return the client of this process; each request carries its run's address."""
    return Mistral(api_key="conform", timeout_ms=int(TIMEOUT_SECONDS * 1000))


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.stream()`, or `chat.complete()`."""
    answers: list[Any] = []

    def build() -> dict[str, Any]:
        chunks = [answer.data for answer in answers] if run.stream else answers
        return _build_outcome(chunks, kept, is_stream=run.stream)

    with ExceptionKeeper(describe_error) as kept:
        _request(run, answers, build)
    return build()


def _build_outcome(chunks: list[Any], kept: ExceptionKeeper, *, is_stream: bool) -> dict[str, Any]:
    content: list[Block] = []
    calls: dict[int | None, Block] = {}
    stop: str | None = None
    usage: Any = None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in [choice for choice in chunk.choices if not choice.index]:
            delta = choice.delta if is_stream else choice.message
            _append_content(content, delta.content)
            for piece in delta.tool_calls or []:
                _add_piece(content, calls, piece)
            stop = choice.finish_reason or stop
    first = chunks[0] if chunks else None
    return build_outcome(
        [_finish_call(block, complete=bool(stop)) for block in content],
        STOP_REASONS.get(stop, "other") if stop else None,
        stop,
        # `cache_usage` is not claimed, so `input` is the whole prompt.
        usage={"input": usage.prompt_tokens, "output": usage.completion_tokens} if usage else None,
        error=kept.error,
        model=get(first, "model"),
        response_id=get(first, "id"),
    )


def _request(run: Any, answers: list[Any], build: control.Build) -> None:
    """Append the events, or the one answer that is not streamed."""
    chat = get_client().chat
    request = {"model": run.model, "messages": [], **(run.request or {})}
    keywords = build_keywords(chat.stream if run.stream else chat.complete, request)
    for field in ("extra_body", "service_tier"):  # the SDK cannot send fields that Mistral's API lacks
        keywords.pop(field, None)
    keywords["server_url"] = run.base_url
    if not run.stream:
        answers.append(chat.complete(**keywords))
    elif control.stops_early(run):
        control.read(
            run, answers, build, lambda: chat.stream(**keywords), lambda: chat.stream_async(**keywords)
        )
    else:
        with chat.stream(**keywords) as events:
            control.read(run, answers, build, lambda: events)


def _finish_call(block: Block, *, complete: bool) -> Block:
    """Return a call with its arguments parsed, and any other block unchanged."""
    if block["type"] != "tool_call":
        return block
    return build_call(block["id"], block["name"], block["arguments"], complete=complete)


def _append_content(content: list[Block], delta: Any) -> None:
    """Append a delta's content: text, or a list of text and thinking parts."""
    for part in [delta] if isinstance(delta, str) else delta or []:
        if isinstance(part, str):
            append_text(content, "text", part)
        elif get(part, "type") == "text":
            append_text(content, "text", part.text)
        elif get(part, "type") == "thinking":
            for thinking in part.thinking:
                append_text(content, "thinking", get(thinking, "text"))


def _add_piece(content: list[Block], calls: dict[int | None, Block], piece: Any) -> None:
    arguments = piece.function.arguments
    call = calls.get(piece.index)
    if call is not None and piece.id in {call["id"], "null", None}:
        call["arguments"] = call["arguments"] + arguments if isinstance(arguments, str) else arguments
        return
    id_ = None if piece.id == "null" else piece.id
    name = piece.function.name
    calls[piece.index] = {"type": "tool_call", "id": id_, "name": name, "arguments": arguments}
    content.append(calls[piece.index])
