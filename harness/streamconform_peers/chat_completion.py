"""Convert the OpenAI SDK's complete `ChatCompletion`, and the parts that its chunks add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform_peers.normal_form import (
    Block,
    ExceptionKeeper,
    append_text,
    build_call,
    build_outcome,
    get,
    get_text,
    subtract,
)
from streamconform_peers.stop_reasons import OPENAI_CHAT


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


def convert_completion(
    completion: Any, kept: ExceptionKeeper, exposed: ChatFields = OPENAI_FIELDS
) -> dict[str, Any]:
    """Return the outcome of a `ChatCompletion`, or of None if the SDK returned nothing."""
    choice = next(iter(get(completion, "choices") or []), None)
    message = get(choice, "message")
    content: list[Block] = []
    append_text(content, "thinking", read_reasoning(message, exposed))
    append_text(content, "text", get_text(message, "content"))
    append_text(content, "refusal", get_text(message, "refusal"))
    for call in get(message, "tool_calls") or []:
        kind, arguments = ("custom", "input") if get(call, "custom") else ("function", "arguments")
        block = build_call(
            get_text(call, "id"), get_text(call, kind, "name"), get_text(call, kind, arguments)
        )
        # The input of a custom tool is text, not JSON.
        block |= {"arguments": block["arguments_text"]} if kind == "custom" else {}
        content += [block] if call is not None else []
    legacy = get(message, "function_call")
    content += [build_call(None, get_text(legacy, "name"), get_text(legacy, "arguments"))] if legacy else []
    fields = {"model": get(completion, "model"), "id": get(completion, "id")}
    fields |= {"usage": find_usage(completion, exposed), "stop": get(choice, "finish_reason")}
    return build_result(content, fields, kept, exposed)


def read_reasoning(message: Any, exposed: ChatFields) -> str:
    """Return the reasoning of a message or a delta: the first non-empty field."""
    return next((text for field in exposed.reasoning if (text := get_text(message, field))), "")


def find_usage(holder: Any, exposed: ChatFields) -> Any:
    """Return the token counts of a completion or a chunk; None if it has none."""
    return next((usage for path in exposed.usage if (usage := get(holder, *path))), None)


def build_result(
    content: list[Block], fields: Mapping[str, Any], kept: ExceptionKeeper, exposed: ChatFields
) -> dict[str, Any]:
    """Return the outcome of the blocks; `fields` contains `model`, `id`, `stop` and `usage`."""
    stop, usage = fields.get("stop"), fields.get("usage")
    content = [_finish_call(block, complete=bool(stop)) for block in content]
    reason = OPENAI_CHAT.get(stop, "other") if stop else None
    names = {"model": fields.get("model"), "response_id": fields.get("id")}
    return build_outcome(content, reason, stop, usage=_read_usage(usage, exposed), error=kept.error, **names)


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
