"""Convert Chat Completions, as SDKs with OpenAI's fields return them: chunks, or a `ChatCompletion`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform.normal.blocks import (
    Block,
    Error,
    append_text,
    build_call,
    build_outcome,
    get,
    get_text,
    subtract,
)
from streamconform.normal.stop_reasons import OPENAI_CHAT


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFields:
    """The fields in which SDKs differ from each other; the defaults are OpenAI's."""

    reasoning: Sequence[str] = ()
    """The fields of a message or a delta that contain the reasoning text."""
    usage: Sequence[Sequence[str]] = (("usage",),)
    """The paths of the token counts in a completion or a chunk."""
    usage_parts: bool = True
    """Whether the counts include details: cached tokens and reasoning tokens."""


OPENAI_FIELDS: Final = ChatFields()


def convert_chat_chunks(
    chunks: Iterable[Any], exposed: ChatFields = OPENAI_FIELDS, *, error: Error | None = None
) -> dict[str, Any]:
    """Return the outcome of the chunks, added up as OpenAI's guides do; only choice 0 is read."""
    content: list[Block] = []
    calls: dict[int | None, Block] = {}
    fields: dict[str, Any] = {}
    for chunk in chunks:
        fields |= {name: get(chunk, name) for name in ("model", "id") if get(chunk, name)}
        fields["usage"] = _find_usage(chunk, exposed) or fields.get("usage")
        for choice in [choice for choice in get(chunk, "choices") or [] if not get(choice, "index")][:1]:
            append_text(content, "thinking", _read_reasoning(get(choice, "delta"), exposed))
            append_text(content, "text", get_text(choice, "delta", "content"))
            append_text(content, "refusal", get_text(choice, "delta", "refusal"))
            for piece in get(choice, "delta", "tool_calls") or []:
                _add_piece(content, calls, get(piece, "index"), piece)
            if get(choice, "delta", "function_call"):
                _add_piece(content, calls, None, {"function": get(choice, "delta", "function_call")})
            fields["stop"] = get(choice, "finish_reason") or fields.get("stop")
    return _build_result(content, fields, exposed, error)


def convert_chat_completion(
    completion: Any, exposed: ChatFields = OPENAI_FIELDS, *, error: Error | None = None
) -> dict[str, Any]:
    """Return the outcome of a `ChatCompletion`, or of None if the SDK returned nothing."""
    choice = next(iter(get(completion, "choices") or []), None)
    message = get(choice, "message")
    content: list[Block] = []
    append_text(content, "thinking", _read_reasoning(message, exposed))
    append_text(content, "text", get_text(message, "content"))
    append_text(content, "refusal", get_text(message, "refusal"))
    for call in get(message, "tool_calls") or []:
        kind, arguments = ("custom", "input") if get(call, "custom") else ("function", "arguments")
        block = build_call(
            get_text(call, "id"), get_text(call, kind, "name"), get_text(call, kind, arguments)
        )
        # The input of a custom tool is text, not JSON.
        if kind == "custom":
            block["arguments"] = block["arguments_text"]
        if call is not None:
            content.append(block)
    legacy = get(message, "function_call")
    if legacy:
        content.append(build_call(None, get_text(legacy, "name"), get_text(legacy, "arguments")))
    fields = {"model": get(completion, "model"), "id": get(completion, "id")}
    fields |= {"usage": _find_usage(completion, exposed), "stop": get(choice, "finish_reason")}
    return _build_result(content, fields, exposed, error)


def _read_reasoning(message: Any, exposed: ChatFields) -> str:
    """Return the reasoning of a message or a delta: the first non-empty field."""
    return next((text for field in exposed.reasoning if (text := get_text(message, field))), "")


def _find_usage(holder: Any, exposed: ChatFields) -> Any:
    """Return the token counts of a completion or a chunk; None if it has none."""
    return next((usage for path in exposed.usage if (usage := get(holder, *path))), None)


def _build_result(
    content: list[Block], fields: Mapping[str, Any], exposed: ChatFields, error: Error | None
) -> dict[str, Any]:
    """Return the outcome of the blocks; `fields` contains `model`, `id`, `stop` and `usage`."""
    stop, usage = fields.get("stop"), fields.get("usage")
    content = [_finish_call(block, complete=bool(stop)) for block in content]
    reason = OPENAI_CHAT.get(stop, "other") if stop else None
    names = {"model": fields.get("model"), "response_id": fields.get("id")}
    return build_outcome(content, reason, stop, usage=_read_usage(usage, exposed), error=error, **names)


def _add_piece(content: list[Block], calls: dict[int | None, Block], index: int | None, piece: Any) -> None:
    """Add a piece to the tool call with its index; None stands for the deprecated field `function_call`."""
    if index not in calls:
        calls[index] = build_call(get_text(piece, "id"), get_text(piece, "function", "name"), "")
        content.append(calls[index])
    calls[index]["arguments_text"] += get_text(piece, "function", "arguments")


def _read_usage(usage: Any, exposed: ChatFields) -> dict[str, int | None]:
    if not exposed.usage_parts:
        return {"input": get(usage, "prompt_tokens"), "output": get(usage, "completion_tokens")}
    cached = get(usage, "prompt_tokens_details", "cached_tokens")
    written = get(usage, "prompt_tokens_details", "cache_write_tokens")
    return {
        "input": subtract(get(usage, "prompt_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "output": get(usage, "completion_tokens"),
        "reasoning": get(usage, "completion_tokens_details", "reasoning_tokens"),
    }


def _finish_call(block: Block, *, complete: bool) -> Block:
    """Return a call with its arguments parsed, and any other block unchanged."""
    if block["type"] != "tool_call":
        return block
    if isinstance(block["arguments"], str):  # the input of a custom tool
        return block | {"complete": complete}
    return build_call(block["id"], block["name"], block["arguments_text"], complete=complete)
