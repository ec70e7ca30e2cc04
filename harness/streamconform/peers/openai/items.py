"""An output item of Responses, as the OpenAI SDK gives it, to blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from streamconform.peers.normal_form import Block, at, call, other, text


def plain(value: Any) -> Any:
    """Return an object of the SDK's as JSON."""
    return value.model_dump(mode="json", exclude_unset=True) if hasattr(value, "model_dump") else value


def action(item: Any) -> Any:
    """Return what was done; the sources in it are what was found."""
    given = plain(at(item, "action"))
    return {k: v for k, v in given.items() if k != "sources"} if isinstance(given, dict) else given


def some(*keys: str) -> Callable[[Any], Any]:
    """Return a reader of those fields that are there."""
    return lambda item: {key: plain(at(item, key)) for key in keys if at(item, key) is not None}


# The name, who runs it, and what its arguments are: the names that the provider's tools have.
CALLS: Final[Mapping[str, tuple[str, str, Callable[[Any], Any]]]] = {
    "web_search_call": ("web_search", "provider", action),
    "file_search_call": ("file_search", "provider", some("queries")),
    "image_generation_call": ("image_generation", "provider", some("prompt", "revised_prompt")),
    "computer_call": ("computer", "client", some("action", "actions")),
    "local_shell_call": ("local_shell", "client", action),
    "shell_call": ("shell", "client", action),
    "apply_patch_call": ("apply_patch", "client", lambda item: plain(at(item, "operation"))),
}
FREE: Final[Mapping[str, tuple[str, str]]] = {
    "custom_tool_call": ("client", "input"),
    "code_interpreter_call": ("provider", "code"),
}
"""Calls whose arguments are any text."""


def blocks(item: Any, lacks: Mapping[str, str], *, complete: bool) -> list[Block]:
    """Return the blocks of an output item; `lacks` is what its deltas have brought beyond it."""
    kind = text(item, "type")
    id_ = text(item, "call_id") or text(item, "id")
    if kind == "message":
        found = [
            {"type": "refusal", "text": text(part, "refusal")}
            if at(part, "type") == "refusal"
            else {"type": "text", "text": text(part, "text")}
            for part in at(item, "content") or []
        ]
        return found + [{"type": name, "text": words} for name, words in lacks.items()]
    if kind == "reasoning":
        shown = [text(part, "text") for part in at(item, "summary") or at(item, "content") or []]
        words = lacks.get("thinking") or "\n\n".join(shown)
        return [{"type": "thinking", "text": words, "signature": at(item, "encrypted_content")}]
    if kind in {"function_call", "mcp_call"}:
        by = "client" if kind == "function_call" else "provider"
        given = lacks.get("arguments") or text(item, "arguments")
        return [call(id_, text(item, "name"), given, complete=complete, executor=by)]
    if kind in FREE:
        by, field = FREE[kind]
        given = lacks.get("arguments") or text(item, field)
        name = text(item, "name") or kind.removesuffix("_call")
        block = call(id_, name, None, complete=complete, executor=by)
        return [block | {"arguments": given, "arguments_text": given}]
    if kind in CALLS:
        name, by, read = CALLS[kind]
        return [call(id_, name, read(item), complete=complete, executor=by)]
    return [other(kind)]
