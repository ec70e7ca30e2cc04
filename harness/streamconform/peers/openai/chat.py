"""Chat Completions through the OpenAI SDK: raw chunks aggregated as its guides show, and its helper."""

from __future__ import annotations

from typing import Any

from streamconform.peers.normal_form import (
    Block,
    ExceptionKeeper,
    append_text,
    build_call,
    build_keywords,
    get,
    get_text,
)
from streamconform.peers.openai.completion import build_result, convert_completion
from streamconform.peers.openai.errors import build_request, describe_error, get_client


def run_raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.create(stream=True)`; only choice 0 is read."""
    create = get_client(run).chat.completions.create
    if not run.stream:
        completion: Any = None
        with ExceptionKeeper(describe_error) as kept:
            completion = create(**build_keywords(create, build_request(run)))
        return convert_completion(completion, kept)
    content: list[Block] = []
    calls: dict[int | None, Block] = {}
    fields: dict[str, Any] = {}
    chunks: list[Any] = []
    with ExceptionKeeper(describe_error) as kept:
        for chunk in create(**build_keywords(create, build_request(run) | {"stream": True})):
            chunks.append(chunk)  # noqa: PERF402 - chunks before an exception must be kept
    for chunk in chunks:
        fields |= {name: get(chunk, name) for name in ("model", "id", "usage") if get(chunk, name)}
        for choice in [choice for choice in chunk.choices or [] if not get(choice, "index")][:1]:
            append_text(content, "text", get_text(choice, "delta", "content"))
            append_text(content, "refusal", get_text(choice, "delta", "refusal"))
            for piece in get(choice, "delta", "tool_calls") or []:
                _add_piece(content, calls, piece.index, piece)
            if get(choice, "delta", "function_call"):
                _add_piece(content, calls, None, {"function": choice.delta.function_call})
            fields["stop"] = choice.finish_reason or fields.get("stop")
    return build_result(content, fields.get("stop"), fields.get("usage"), fields, kept)


def run_helper(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.stream()`: the completion that it accumulated."""
    chat = get_client(run).chat.completions
    completion: Any = None
    with (
        ExceptionKeeper(describe_error) as kept,
        chat.stream(**build_keywords(chat.stream, build_request(run))) as stream,
    ):
        for _ in stream:
            completion = stream.current_completion_snapshot
        completion = stream.get_final_completion()
    return convert_completion(completion, kept)


def _add_piece(content: list[Block], calls: dict[int | None, Block], index: int | None, piece: Any) -> None:
    """Add a piece of a tool call to the call of its index; None is the deprecated `function_call` field."""
    if index not in calls:
        calls[index] = build_call(get_text(piece, "id"), get_text(piece, "function", "name"), "")
        content.append(calls[index])
    calls[index]["arguments_text"] += get_text(piece, "function", "arguments")
