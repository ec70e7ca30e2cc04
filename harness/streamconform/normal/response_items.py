"""Convert output items of Responses, as the OpenAI SDK returns them, to blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, build_call, build_other, get, get_text


def to_json(value: Any) -> Any:
    """Return an SDK object as JSON; any other value is returned unchanged."""
    return value.model_dump(mode="json", exclude_unset=True) if hasattr(value, "model_dump") else value


def read_action(item: Any) -> Any:
    """Return the item's action without its sources, which are the result of the call."""
    action = to_json(get(item, "action"))
    return {k: v for k, v in action.items() if k != "sources"} if isinstance(action, dict) else action


def make_reader(*keys: str) -> Callable[[Any], Any]:
    """Return a function that reads these fields of an item, skipping null fields."""
    return lambda item: {key: to_json(get(item, key)) for key in keys if get(item, key) is not None}


HOSTED_CALLS: Final[Mapping[str, tuple[str, str, Callable[[Any], Any]]]] = {
    "web_search_call": ("web_search", "provider", read_action),
    "file_search_call": ("file_search", "provider", make_reader("queries")),
    "image_generation_call": ("image_generation", "provider", make_reader("prompt", "revised_prompt")),
    "computer_call": ("computer", "client", make_reader("action", "actions")),
    "local_shell_call": ("local_shell", "client", read_action),
    "apply_patch_call": ("apply_patch", "client", lambda item: to_json(get(item, "operation"))),
}
"""Calls to the provider's tools, by item type: tool name, executor, and a function to read the arguments."""
FREE_TEXT_CALLS: Final[Mapping[str, tuple[str, str]]] = {
    "custom_tool_call": ("client", "input"),
    "code_interpreter_call": ("provider", "code"),
}
"""Calls whose arguments are plain text, by item type: the executor, and the field with the text."""


def convert_item(
    item: Any, missing: Mapping[str, str], *, complete: bool = True, whole: bool = True
) -> list[Block]:
    """Return the blocks of an output item; `missing` is delta text that the item does not contain yet.

    An item's encrypted reasoning is not final until `output_item.done` delivers the complete item.
    """
    kind = get_text(item, "type")
    if kind == "message":
        parts = [_convert_part(part) for part in get(item, "content") or []]
        return parts + [{"type": name, "text": text} for name, text in missing.items()]
    if kind == "reasoning":
        return [_convert_reasoning(item, missing, whole=whole)]
    id_ = get_text(item, "call_id") or get_text(item, "id")
    if kind in {"function_call", "mcp_call"}:
        executor = "client" if kind == "function_call" else "provider"
        arguments = missing.get("arguments") or get_text(item, "arguments")
        return [build_call(id_, get_text(item, "name"), arguments, complete=complete, executor=executor)]
    if kind in FREE_TEXT_CALLS:
        return [_convert_free_text(item, missing, id_, complete=complete)]
    if kind == "tool_search_call":
        executor = "client" if get(item, "execution") == "client" else "provider"
        return [build_call(id_, "tool_search", to_json(get(item, "arguments")), executor=executor)]
    if kind == "shell_call":
        # OpenAI runs the commands if they have a container; a local environment is the client's.
        environment = get_text(item, "environment", "type")
        executor = "provider" if environment.startswith("container") else "client"
        return [build_call(id_, "shell", read_action(item), complete=complete, executor=executor)]
    if kind in HOSTED_CALLS:
        name, executor, read_arguments = HOSTED_CALLS[kind]
        return [build_call(id_, name, read_arguments(item), complete=complete, executor=executor)]
    return [build_other(kind)]


def _convert_part(part: Any) -> Block:
    kind = "refusal" if get(part, "type") == "refusal" else "text"
    return {"type": kind, "text": get_text(part, kind)}


def _convert_reasoning(item: Any, missing: Mapping[str, str], *, whole: bool) -> Block:
    texts = [get_text(part, "text") for part in get(item, "summary") or get(item, "content") or []]
    # Joined by an empty line, so that a heading does not run into the sentence before it.
    thinking = {"type": "thinking", "text": missing.get("thinking") or "\n\n".join(texts)}
    return {**thinking, "signature": get(item, "encrypted_content")} if whole else thinking


def _convert_free_text(item: Any, missing: Mapping[str, str], id_: str, *, complete: bool) -> Block:
    kind = get_text(item, "type")
    executor, field = FREE_TEXT_CALLS[kind]
    arguments = missing.get("arguments") or get_text(item, field)
    name = get_text(item, "name") or kind.removesuffix("_call")
    # Text has no separate end: only the item's status shows that the token limit cut it.
    complete = complete and get(item, "status") != "incomplete"
    block = build_call(id_, name, None, complete=complete, executor=executor)
    return block | {"arguments": arguments, "arguments_text": arguments}
