"""The output items that are tool calls, by type, with their executor, name and arguments.

The client runs a call if the API waits for an item with its output. Tools hosted by OpenAI have neither a
name nor arguments in a common form, so the name is the type without `_call`, and the arguments are the field
that contains the query. Their results are in the finished item, which becomes an `other` block of the same
type.

Source: https://platform.openai.com/docs/guides/tools and the guides below it (function calling,
shell, apply patch, computer use, tool search), and the types in the `openai` package (3.54.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform_reference.decoding import fields
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.outcome import Executor

ECHOED: Final = frozenset({"namespace", "caller"})
"""The members of a call's item that the next request must repeat.

Without its namespace, a call is rejected: earendil-works/pi#7709, langchain-ai/langchain#36096.
"""

Tools = Sequence[Payload]
"""The request's tools, which the response repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallForm:
    """How to read one type of call.

    `arguments` returns JSON text (any text if `free_text` is set), a value, or None if the arguments are
    unknown. `late` marks calls whose start is only a notice, because their id changes until the end.
    """

    name: str | None = None
    executor: Callable[[Payload, Tools], Executor]
    arguments: Callable[[Payload], Any]
    free_text: bool = False
    late: bool = False


def by_client(_item: Payload, _tools: Tools) -> Executor:
    """Return `client` for any call."""
    return "client"


def by_provider(_item: Payload, _tools: Tools) -> Executor:
    """Return `provider` for any call."""
    return "provider"


def find_custom_executor(item: Payload, tools: Tools) -> Executor:
    """Return a custom call's executor; xAI sends the steps of its own `x_search` as such calls.

    Source: https://docs.x.ai/docs/guides/tools/overview
    """
    declared = {tool.get("name") for tool in tools if tool.get("type") == "custom"}
    hosted = any(tool.get("type") == "x_search" for tool in tools)
    return "provider" if hosted and item.get("name") not in declared else "client"


def find_shell_executor(item: Payload, _tools: Tools) -> Executor:
    """Return a shell call's executor: OpenAI if it has a container, otherwise the client."""
    environment = item.get("environment")
    kind = environment.get("type") if isinstance(environment, dict) else None
    return "provider" if isinstance(kind, str) and kind.startswith("container") else "client"


def find_search_executor(item: Payload, _tools: Tools) -> Executor:
    """Return the executor of a tool search, which the item names."""
    return "client" if item.get("execution") == "client" else "provider"


def read_field(key: str) -> Callable[[Payload], Any]:
    """Return a function that reads one field."""

    def read(item: Payload) -> Any:
        return item.get(key)

    return read


def read_fields(*keys: str) -> Callable[[Payload], Any]:
    """Return a function that reads an object, keeping whichever of these fields are present."""

    def read(item: Payload) -> Any:
        return {key: item[key] for key in keys if item.get(key) is not None}

    return read


def read_web_search(item: Payload) -> Any:
    """Return the query of a web search, which xAI sends as function arguments.

    The `sources` in an action are results, not arguments.
    """
    action = item.get("action")
    query = {k: v for k, v in action.items() if k != "sources"} if isinstance(action, dict) else action
    return item.get("arguments") or query


CALLS: Final[Mapping[str, CallForm]] = {
    "function_call": CallForm(executor=by_client, arguments=read_field("arguments")),
    "custom_tool_call": CallForm(
        executor=find_custom_executor, arguments=read_field("input"), free_text=True
    ),
    "mcp_call": CallForm(executor=by_provider, arguments=read_field("arguments")),
    "web_search_call": CallForm(name="web_search", executor=by_provider, arguments=read_web_search),
    "file_search_call": CallForm(name="file_search", executor=by_provider, arguments=read_fields("queries")),
    "code_interpreter_call": CallForm(
        name="code_interpreter", executor=by_provider, arguments=read_field("code"), free_text=True
    ),
    "image_generation_call": CallForm(
        name="image_generation", executor=by_provider, arguments=read_fields("prompt", "revised_prompt")
    ),
    "computer_call": CallForm(
        name="computer", executor=by_client, arguments=read_fields("action", "actions")
    ),
    "local_shell_call": CallForm(name="local_shell", executor=by_client, arguments=read_field("action")),
    "shell_call": CallForm(name="shell", executor=find_shell_executor, arguments=read_field("action")),
    "apply_patch_call": CallForm(name="apply_patch", executor=by_client, arguments=read_field("operation")),
    "tool_search_call": CallForm(
        name="tool_search", executor=find_search_executor, arguments=read_field("arguments"), late=True
    ),
}


def read_call_id(item: Payload) -> str:
    """Return the id that the call's output must name."""
    return fields.read_text(item, "call_id") or fields.read_text(item, "id")


def read_call_name(item: Payload, form: CallForm) -> str:
    """Return the tool's name."""
    return fields.read_text(item, "name") or form.name or ""
