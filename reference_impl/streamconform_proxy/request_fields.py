"""List the fields of a client's request that have no effect on the upstream's request, for the access log.

Every field is either read, rejected with a 400, or listed here, so none is dropped silently. A field is
rejected if ignoring it would change the answer in a way that the client relies on. A null field counts as
absent.

Source: https://platform.claude.com/docs/en/api/messages,
https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.request import OPTIONS as ANTHROPIC_OPTIONS
from streamconform_reference.apis.ollama_chat.request import OPTIONS as OLLAMA_OPTIONS
from streamconform_reference.apis.openai_chat.request import OPTIONS as OPENAI_OPTIONS
from streamconform_reference.requests.fields import join_path, unsupported
from streamconform_reference.requests.option_table import Option

MAX_NAMED: Final = 12
"""The maximum number of fields named in a log line."""
MAX_NAME: Final = 60
"""The maximum length of a field's name in the log; clients choose these names."""

OPTIONS: Final[Mapping[str, tuple[Option, ...]]] = {
    "anthropic-messages": ANTHROPIC_OPTIONS,
    "ollama-chat": OLLAMA_OPTIONS,
    "openai-chat": OPENAI_OPTIONS,
}
"""By API: the options that are one member of a body."""

_ANTHROPIC_TOOL: Final = frozenset(
    {"type", "name", "description", "input_schema", "strict", "cache_control", "eager_input_streaming"}
)
READ_FIELDS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "anthropic-messages": {
        "": frozenset(
            {
                "model",
                "system",
                "messages",
                "tools",
                "tool_choice",
                "thinking",
                "output_config",
                "cache_control",
            }
        ),
        "thinking": frozenset({"type", "budget_tokens", "display"}),
        "output_config": frozenset({"format"}),
        "metadata": frozenset(),
        "tool_choice": frozenset({"type", "name", "disable_parallel_tool_use"}),
        "tools": _ANTHROPIC_TOOL,
    },
    "openai-chat": {
        "": frozenset(
            {
                "model",
                "messages",
                "tools",
                "tool_choice",
                "n",
                "stream_options",
                "reasoning",
                "thinking",
                "response_format",
            }
        ),
        "stream_options": frozenset({"include_usage"}),
        "thinking": frozenset({"type"}),
        "reasoning": frozenset({"effort", "max_tokens", "enabled"}),
        "tools": frozenset({"type", "function"}),
    },
}
"""By the client's API: the fields that are read besides those in `OPTIONS`, by the object that contains them;
those under `tools` apply to each tool.
"""

REJECTED_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "anthropic-messages": {
        "mcp_servers": "tools that Anthropic runs",
        "container": "a container that Anthropic runs",
    },
    "openai-chat": {
        "functions": "the older form of `tools`",
        "function_call": "the older form of `tool_choice`",
        "logprobs": "probabilities of tokens",
        "top_logprobs": "probabilities of tokens",
        "audio": "an answer in audio",
        "web_search_options": "a search that OpenAI runs",
    },
}
"""By the client's API: fields that must not be ignored, because the client relies on their effect, each with
the feature that it requests.
"""

UNEXPRESSED_FIELDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("anthropic-messages", "ollama-chat"): (
        "tool_choice.disable_parallel_tool_use",
        "tools.strict",
    ),
    ("anthropic-messages", "openai-chat"): ("top_k",),
    ("openai-chat", "anthropic-messages"): ("prompt_cache_key",),
}
"""By client and upstream API: fields that are read, but have no counterpart in the upstream's API."""


def reject_fields(api: str, body: Mapping[str, Any]) -> None:
    """Raise `RequestError` if the body has a field in `REJECTED_FIELDS` that requests something."""
    for name, feature in REJECTED_FIELDS[api].items():
        if body.get(name) not in (None, False, 0, [], {}):
            raise unsupported(name, feature)


def list_ignored_fields(
    client: str,
    upstream: str,
    body: Mapping[str, Any],
    conversation: Mapping[str, Any],
    upstream_body: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the paths of the fields of `body` that have no effect on `upstream_body`."""
    found = [
        *_iterate_unread(client, body),
        *(path for path in UNEXPRESSED_FIELDS[client, upstream] if _has_field(body, path)),
        *_iterate_lost_options(upstream, body, upstream_body),
        *_iterate_lost_cache(client, upstream, conversation, upstream_body),
    ]
    return tuple(dict.fromkeys(path[:MAX_NAME] for path in found))


def describe_ignored_fields(paths: tuple[str, ...]) -> str:
    """Return the note for the access log."""
    more = f", and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return f"ignored: {', '.join(paths[:MAX_NAMED])}{more}"


def _iterate_unread(api: str, body: Mapping[str, Any]) -> Iterator[str]:
    paths = {option.path for option in OPTIONS[api] if option.read is not None}
    parents = {path.partition(".")[0] for path in paths}
    for parent, known in READ_FIELDS[api].items():
        for holder in _list_holders(body, parent):
            for name, value in holder.items():
                path = join_path(parent, name)
                is_read = name in known or path in paths or path in parents
                if not is_read and value is not None and path not in REJECTED_FIELDS[api]:
                    yield path


def _iterate_lost_options(
    upstream: str, body: Mapping[str, Any], upstream_body: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the options that are dropped only for some values, models or hosts."""
    effort = _get_object(body, "output_config").get("effort")
    if effort is not None and not any(key in upstream_body for key in ("reasoning_effort", "reasoning")):
        level = upstream_body.get("think")
        if not isinstance(level, str):
            yield "output_config.effort"
    if upstream == "ollama-chat":
        choice = _get_object(body, "tool_choice").get("type")
        if choice in ("any", "tool"):
            yield f"tool_choice.type {choice}"
    form = _get_object(body, "response_format").get("type")
    if form == "json_object":
        yield "response_format.type json_object"
    if (
        _get_object(body, "thinking").get("type") in ("adaptive", "enabled")
        and upstream == "openai-chat"
        and not any(key in upstream_body for key in ("reasoning_effort", "reasoning", "thinking"))
    ):
        yield "thinking (the upstream's default applies)"


def _iterate_lost_cache(
    client: str, upstream: str, conversation: Mapping[str, Any], upstream_body: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the fields for the provider's cache, which only some upstreams have."""
    if client != "anthropic-messages":
        return
    if "session" in conversation and not {"prompt_cache_key", "metadata"} & upstream_body.keys():
        yield "metadata.user_id"
    if "cache" in conversation and "prompt_cache_retention" not in upstream_body:
        yield "cache_control" if upstream == "ollama-chat" else "cache_control (the upstream decides)"


def _has_field(body: Mapping[str, Any], path: str) -> bool:
    parent, _, name = path.rpartition(".")
    return any(holder.get(name) not in (None, False) for holder in _list_holders(body, parent))


def _list_holders(body: Mapping[str, Any], parent: str) -> list[Mapping[str, Any]]:
    if not parent:
        return [body]
    value = body.get(parent)
    holders = value if isinstance(value, list) else [value]
    return [holder for holder in holders if isinstance(holder, dict)]


def _get_object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}
