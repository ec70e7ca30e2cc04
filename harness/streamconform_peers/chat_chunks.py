"""Add up Chat Completions chunks as OpenAI's guides do, for every SDK with OpenAI's fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamconform_peers.chat_completion import (
    OPENAI_FIELDS,
    ChatFields,
    build_result,
    find_usage,
    read_reasoning,
)
from streamconform_peers.normal_form import Block, ExceptionKeeper, append_text, build_call, get, get_text


def convert_chunks(
    chunks: Iterable[Any], kept: ExceptionKeeper, exposed: ChatFields = OPENAI_FIELDS
) -> dict[str, Any]:
    """Return the outcome of the chunks; only choice 0 is read."""
    content: list[Block] = []
    calls: dict[int | None, Block] = {}
    fields: dict[str, Any] = {}
    for chunk in chunks:
        fields |= {name: get(chunk, name) for name in ("model", "id") if get(chunk, name)}
        fields["usage"] = find_usage(chunk, exposed) or fields.get("usage")
        for choice in [choice for choice in get(chunk, "choices") or [] if not get(choice, "index")][:1]:
            append_text(content, "thinking", read_reasoning(get(choice, "delta"), exposed))
            append_text(content, "text", get_text(choice, "delta", "content"))
            append_text(content, "refusal", get_text(choice, "delta", "refusal"))
            for piece in get(choice, "delta", "tool_calls") or []:
                _add_piece(content, calls, get(piece, "index"), piece)
            if get(choice, "delta", "function_call"):
                _add_piece(content, calls, None, {"function": get(choice, "delta", "function_call")})
            fields["stop"] = get(choice, "finish_reason") or fields.get("stop")
    return build_result(content, fields, kept, exposed)


def _add_piece(content: list[Block], calls: dict[int | None, Block], index: int | None, piece: Any) -> None:
    """Add a piece to the tool call with its index; None stands for the deprecated field `function_call`."""
    if index not in calls:
        calls[index] = build_call(get_text(piece, "id"), get_text(piece, "function", "name"), "")
        content.append(calls[index])
    calls[index]["arguments_text"] += get_text(piece, "function", "arguments")
