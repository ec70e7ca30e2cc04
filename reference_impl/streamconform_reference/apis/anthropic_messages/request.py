"""Build the body of `POST /v1/messages` from a conversation.

Source: https://platform.claude.com/docs/en/api/messages, the same site's guides to tool use, extended and
adaptive thinking, and prompt caching, and the types in the `anthropic` package (2.12.0).

- Every block of an answer is sent back verbatim and in order: thinking with its signature, even without text;
  redacted thinking as its data; provider calls and their results between them. If an answer ends with
  thinking, that thinking is omitted, because the API rejects it as the last block.
- All results are in one user message; the user's text follows them in the same message. A result without text
  has no content.
- `disable_parallel_tool_use` is a field of the tool choice, but the choice `none` lacks it.
- `max_tokens` is required. The thinking budget is at least 1024 and less than that limit; if that is
  impossible, thinking is omitted. It is also omitted if a call is forced, because the API rejects the
  combination.
- Sampling options are omitted with thinking, and for models that decide for themselves how much to think:
  they always reject them, and the types no longer include them (sipeed/picoclaw#2939).
- There is no list of allowed tools, so only those are sent.
- Newer models accept system messages after a user's turn; for others, their text is the user's. Audio cannot
  be sent. A user's text has no citations, because version 2026-10-21 rejects them.
- On Vertex AI, the model is in the path and the version is in the body.
- The cache covers the system prompt, and everything up to the last block of the user's last message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from streamconform_reference.requests.conversation import (
    MEDIA,
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_object,
    part_text,
    read_echo,
    read_turns,
)
from streamconform_reference.requests.errors import invalid_request
from streamconform_reference.requests.fields import join_path, read_field, read_positive, require_field
from streamconform_reference.requests.option_table import (
    Option,
    collect_options,
    read_choice_of,
    read_kind,
    read_name,
    write_options,
)
from streamconform_reference.requests.options import (
    API_KEY,
    BUDGETS,
    DEFAULT_EFFORT,
    Request,
    ThinkingOptions,
    build_description,
    build_schema,
    build_strict,
    compute_default_limit,
    format_bearer,
    is_on_host,
    is_streamed,
    make_request,
    read_facts,
    read_limit,
    read_output_schema,
    read_thinking,
    restrict_tools,
)

API: Final = "anthropic-messages"


def _read_limit(holder: Mapping[str, Any], key: str, parent: str) -> int | None:
    """Return the limit, which is required."""
    require_field(holder, key, "count", parent)
    return read_positive(holder, key, parent)


def _read_stop(holder: Mapping[str, Any], key: str, parent: str) -> Any:
    """Return stop sequences, or None for an empty list."""
    value = read_field(holder, key, "list", parent)
    if not all(isinstance(sequence, str) for sequence in value or ()):
        raise invalid_request(f"{join_path(parent, key)}: expected a list of strings")
    return value or None


_EFFORT_LEVELS: Final = {"low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "xhigh"}
"""Maps the effort levels to OpenAI's; only the highest level's name differs."""

OPTIONS: Final = (
    Option("max_tokens", "max_tokens", _read_limit),
    Option("temperature", "temperature", read_kind("number")),
    Option("session", "metadata.user_id", read_name, written=False),
    Option("user", "metadata.user_id"),
    Option("stream", "stream", read_kind("true or false")),
    Option("stop", "stop_sequences", _read_stop),
    Option("top_p", "top_p", read_kind("number")),
    Option("top_k", "top_k", read_kind("count")),
    Option("service_tier", "service_tier"),
    # Without `thinking`, the effort applies to the whole answer, like OpenAI's.
    Option("effort", "output_config.effort", read_choice_of(_EFFORT_LEVELS), written=False),
)
VERSION: Final = "2023-06-01"
_VERTEX: Final = "googleapis.com"
_VERTEX_VERSION: Final = "vertex-2023-10-16"
IDS: Final = "[a-zA-Z0-9_-]{1,64}"
_MIN_BUDGET: Final = 1024
_EFFORTS: Final = {"minimal": "low"}
_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}

# The result of an MCP call needs the name of its server, which an outcome does not contain.
_MCP: Final = ("mcp_tool_use", "mcp_tool_result")
_MCP_ID: Final = "mcptoolu_"


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    model, body = conversation["model"], build_body(conversation)
    if is_on_host(conversation, _VERTEX):
        host = read_facts(conversation)["host"]
        path = f"/v1/projects/{API_KEY}/locations/{host.partition('-aiplatform')[0]}/publishers/anthropic"
        method = "streamRawPredict" if is_streamed(conversation) else "rawPredict"
        path = f"{path}/models/{quote(model, safe='@')}:{method}"
        return make_request(
            path, {"anthropic_version": _VERTEX_VERSION, **body}, authorization=format_bearer()
        )
    return make_request(
        "/v1/messages", {"model": model, **body}, x_api_key=API_KEY, anthropic_version=VERSION
    )


def build_body(
    conversation: Conversation, api: str = API, options: Sequence[Option] = OPTIONS
) -> dict[str, Any]:
    """Return the members of the body, except the model."""
    conversation = restrict_tools(conversation)
    cache = _build_cache_control(conversation)
    body: dict[str, Any] = {"messages": build_messages(conversation, cache, api)}
    if conversation.get("system"):
        system = {"type": "text", "text": conversation["system"]}
        body["system"] = [system | cache] if cache else conversation["system"]
    if conversation.get("tools"):
        body["tools"] = [
            build_tool(entry) | _build_mark(conversation, entry.get("cache"))
            for entry in conversation["tools"]
        ]
        body |= build_tool_choice(conversation)
    tokens, thinking = build_thinking(conversation)
    body |= thinking
    output = read_output_schema(conversation)
    if output:
        form = {"format": {"type": "json_schema", "schema": output.schema}}
        body["output_config"] = {**body.get("output_config", {}), **form}
    body |= _build_container(conversation, api)
    values = collect_options(conversation, sampling=accepts_sampling(conversation, thinking))
    write_options(options, values | {"max_tokens": tokens}, body)
    return body


def _build_container(conversation: Conversation, api: str) -> dict[str, Any]:
    """Return the container of the last answer that had one, so that its code can go on there."""
    answers = [message for message in conversation["messages"] if message["role"] == "assistant"]
    kept = [read_echo(answer).get("container") for answer in answers if answer.get("api", api) == api]
    ids = [container["id"] for container in kept if isinstance(container, dict) and "id" in container]
    return {"container": ids[-1]} if ids else {}


def build_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the API's format."""
    return {
        "name": tool["name"],
        **build_description(tool),
        "input_schema": build_schema(tool),
        **build_strict(tool),
    }


def build_tool_choice(conversation: Conversation) -> dict[str, Any]:
    """Return the tool choice as a field, if one is requested."""
    requested = conversation.get("tool_choice")
    forbids_parallel = conversation.get("parallel_tool_calls") is False
    if requested is None and not forbids_parallel:
        return {}
    if isinstance(requested, Mapping):
        choice: dict[str, Any] = {"type": "tool", "name": requested["name"]}
    else:
        choice = {"type": _CHOICES[requested or "auto"]}
    if forbids_parallel and requested != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice}


def _build_cache_control(conversation: Conversation) -> dict[str, Any]:
    """Return the cache mark as a field, if caching is requested; only Anthropic's host supports one hour."""
    return _build_mark(conversation, conversation.get("cache"))


def _build_mark(conversation: Conversation, keep: str | None) -> dict[str, Any]:
    if keep in (None, "none"):
        return {}
    hour = keep == "long" and is_on_host(conversation, "api.anthropic.com")
    return {"cache_control": {"type": "ephemeral", **({"ttl": "1h"} if hour else {})}}


def build_thinking(conversation: Conversation) -> tuple[int, dict[str, Any]]:
    """Return the token limit, and the fields for thinking."""
    options, requested = read_thinking(conversation), read_limit(conversation)
    usual = requested or compute_default_limit(conversation)
    if options is None:
        return usual, {}
    if options.off:
        return usual, {"thinking": {"type": "disabled"}}
    forced = conversation.get("tool_choice", "auto") not in ("auto", "none")
    if forced and conversation.get("tools"):
        return usual, {}
    if not options.by_budget:
        fields = _build_adaptive_thinking(options)
        return usual, {**fields, "thinking": fields["thinking"] | _build_display(options)}
    budget = max(options.budget or BUDGETS[DEFAULT_EFFORT], _MIN_BUDGET)
    if requested is None and budget >= usual:
        usual = min(budget + usual, read_facts(conversation).get("max_output_tokens", budget + usual))
    if usual <= _MIN_BUDGET:
        return usual, {}
    enabled = {"type": "enabled", "budget_tokens": min(budget, usual - 1), **_build_display(options)}
    return usual, {"thinking": enabled}


def _build_display(options: ThinkingOptions) -> dict[str, Any]:
    return {"display": options.display} if options.display else {}


def _build_adaptive_thinking(options: ThinkingOptions) -> dict[str, Any]:
    """Return the fields, with a level, for a model that decides for itself how much to think."""
    fields: dict[str, Any] = {"thinking": {"type": "adaptive"}}
    if options.effort:
        fields["output_config"] = {"effort": _EFFORTS.get(options.effort, options.effort)}
    return fields


def accepts_sampling(conversation: Conversation, fields: Mapping[str, Any]) -> bool:
    """Whether the model accepts a temperature and the like with these thinking fields."""
    tempered = read_facts(conversation).get("thinking") in (None, "none", "budget")
    return tempered and fields.get("thinking", {}).get("type") not in ("enabled", "adaptive")


def build_messages(conversation: Conversation, cache: Mapping[str, Any], api: str) -> list[dict[str, Any]]:
    """Return the messages; the user's text after results is in the same message."""
    sent: list[dict[str, Any]] = []
    for turn in read_turns(conversation, api, ids=IDS):
        if isinstance(turn, UserTurn):
            append(sent, "user", build_content(turn.parts, conversation))
        elif isinstance(turn, SystemTurn):
            role = choose_system_role(conversation, turn, sent)
            append(sent, role, [{"type": "text", "text": turn.text}])
        else:
            append(sent, "assistant", build_answer(turn.blocks))
            append(sent, "user", [build_tool_result(result, conversation) for result in turn.results])
    last = next((message for message in reversed(sent) if message["role"] == "user"), None)
    if cache and last:
        last["content"][-1] = last["content"][-1] | cache
    return sent


def choose_system_role(
    conversation: Conversation, turn: SystemTurn, sent: Sequence[Mapping[str, Any]]
) -> str:
    """Return the role of a system message, which must end the user's turn."""
    ends = bool(sent) and sent[-1]["role"] != "assistant" and not turn.before_user
    return "system" if ends and read_facts(conversation).get("system_messages") else "user"


def append(sent: list[dict[str, Any]], role: str, blocks: Iterable[Any]) -> None:
    """Append blocks, if any, to the last message if it has this role, or else as a new message."""
    blocks = list(blocks)
    if sent and sent[-1]["role"] == role:
        sent[-1]["content"] += blocks
    elif blocks:
        sent.append({"role": role, "content": blocks})


def build_content(parts: Sequence[Block], conversation: Conversation) -> list[dict[str, Any]]:
    """Return the parts as blocks, without blank text, which the API rejects."""
    return [
        _build_part(part) | _build_mark(conversation, part.get("cache"))
        for part in parts
        if part["type"] in MEDIA or part_text(part).strip()
    ]


def _build_part(part: Block) -> dict[str, Any]:
    if part["type"] not in ("image", "document"):
        return {"type": "text", "text": part_text(part)}
    block: dict[str, Any] = {"type": part["type"], "source": _build_source(part)}
    if "title" in part:
        block["title"] = part["title"]
    if "citations" in part:
        block["citations"] = {"enabled": part["citations"]}
    return block


def _build_source(part: Block) -> dict[str, Any]:
    if "file_id" in part:
        return {"type": "file", "file_id": part["file_id"]}
    if "url" in part:
        return {"type": "url", "url": part["url"]}
    kind, key = ("text", "text") if "text" in part else ("base64", "data")
    return {"type": kind, "media_type": part["media_type"], "data": part[key]}


def build_tool_result(result: ToolResult, conversation: Conversation) -> dict[str, Any]:
    """Return a result: a single text as text, anything else as blocks."""
    blocks = build_content(result.parts, conversation)
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.id}
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        block["content"] = blocks[0]["text"]
    elif blocks:
        block["content"] = blocks
    return block | ({"is_error": True} if result.error else {})


def build_answer(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Return an answer's blocks."""
    sent: list[dict[str, Any]] = []
    for block in blocks:
        match block["type"]:
            case "text" | "refusal" if block["text"].strip():
                cited = [citation["data"] for citation in block.get("citations") or () if "data" in citation]
                text = {"type": "text", "text": block["text"]}
                sent.append(text | ({"citations": cited} if cited else {}))
            case "thinking" if block.get("signature"):
                sent.append(build_thinking_block(block))
            case "tool_call":
                sent += build_tool_use(block)
            case "other" if block.get("kind") not in _MCP:
                sent.append(block["data"])
            case _:
                pass  # the API rejects blank text and unsigned thinking
    while sent and sent[-1]["type"] in ("thinking", "redacted_thinking"):
        sent.pop()
    return sent


def build_thinking_block(block: Block) -> dict[str, Any]:
    """Return thinking unchanged."""
    if block.get("redacted"):
        return {"type": "redacted_thinking", "data": block["signature"]}
    return {"type": "thinking", "thinking": block.get("text") or "", "signature": block["signature"]}


def build_tool_use(call: Block) -> list[dict[str, Any]]:
    """Return a call run by the client or by the provider; nothing if it cannot be sent back."""
    if call.get("executor") != "provider":
        kind = "tool_use"
    elif call["id"].startswith(_MCP_ID):
        return []
    else:
        kind = "server_tool_use"
    call_fields = {"type": kind, "id": call["id"], "name": call["name"], "input": arguments_object(call)}
    return [{**read_echo(call), **call_fields}]
