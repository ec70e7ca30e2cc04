"""Build the body of `POST /v1beta/interactions` from a conversation, without storing state at the provider.

Source: https://ai.google.dev/api/interactions-api#CreateInteraction,
https://ai.google.dev/gemini-api/docs/interactions, and the types in the `google-genai` package (3.4.0).

- `store` is true by default, so the request always sets it to false. The history is then in `input`, as
  steps.
- Thought steps are sent back at their position, with their summary and signature; without them, the API
  rejects a call that is sent back (allenhutchison/obsidian-gemini#1269).
- A result is a step after the calls. Its value is sent unchanged if it is a single JSON object, as content
  items if it contains images, and otherwise as text.
- Calls to Google's tools, and their results, are sent back as the same steps.
- There is no option for "one call at most", and thinking cannot be switched off.
- A stored interaction that the request continues is named, and the new one is stored too.
- Instructions between messages have no step of their own, so they are the user's. Text documents are text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform_reference.requests.conversation import (
    MEDIA,
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_object,
    is_client_call,
    join_text,
    part_text,
    read_turns,
)
from streamconform_reference.requests.option_table import Option, collect_options, write_options
from streamconform_reference.requests.options import (
    API_KEY,
    Request,
    ThinkingOptions,
    build_description,
    build_schema,
    make_request,
    read_output_schema,
    read_thinking,
)

API: Final = "google-interactions"
OPTIONS: Final = (
    Option("max_tokens", "generation_config.max_output_tokens"),
    Option("temperature", "generation_config.temperature"),
    Option("top_p", "generation_config.top_p"),
    Option("seed", "generation_config.seed"),
    Option("stop", "generation_config.stop_sequences"),
    Option("service_tier", "service_tier"),
    Option("metadata", "labels"),
    Option("stream", "stream"),
)
_MODES: Final = {"auto": "auto", "none": "none", "required": "any"}
_LEVELS: Final = {"max": "xhigh"}
_RESULT: Final = "_result"
_MCP: Final = "mcp_server_tool_call"
HOSTED: Final = frozenset(
    [
        "code_execution",
        "file_search",
        "google_maps",
        "google_search",
        "processing",
        "retrieval",
        "tool_search",
        "url_context",
    ]
)
"""Google's tools by name; any other tool that the provider ran belongs to an MCP server."""
_WITHOUT_ARGUMENTS: Final = frozenset(["file_search", "processing"])
"""Google's tools whose calls have only an id and a signature."""


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    body: dict[str, Any] = {"model": conversation["model"], "input": list(_build_steps(conversation))}
    if conversation.get("system"):
        body["system_instruction"] = conversation["system"]
    settings: dict[str, Any] = {}
    if conversation.get("tools"):
        body["tools"] = [_build_tool(tool) for tool in conversation["tools"]]
        if "tool_choice" in conversation:
            settings["tool_choice"] = _build_tool_choice(conversation["tool_choice"])
    options = read_thinking(conversation)
    if options:
        settings |= _build_thinking(options)
    if settings:
        body["generation_config"] = settings
    output = read_output_schema(conversation)
    if output:
        form = {"type": "text", "mime_type": "application/json", "schema": output.schema}
        body["response_format"] = form
    body["store"] = "previous_response_id" in conversation
    if body["store"]:
        body["previous_interaction_id"] = conversation["previous_response_id"]
    write_options(OPTIONS, collect_options(conversation), body)
    return make_request("/v1beta/interactions", body, x_goog_api_key=API_KEY)


def _build_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the API's format; a tool without parameters has no schema."""
    parameters = build_schema(tool)
    schema = {"parameters": parameters} if parameters["properties"] else {}
    return {"type": "function", "name": tool["name"], **build_description(tool), **schema}


def _build_tool_choice(requested: str | Mapping[str, Any]) -> Any:
    """Return the tool choice; a named tool is requested as `any` with only that tool."""
    if isinstance(requested, Mapping):
        mode = "validated" if requested.get("mode") == "auto" else "any"
        return {"allowed_tools": {"mode": mode, "tools": requested.get("allowed") or [requested["name"]]}}
    return _MODES[requested]


def _build_thinking(options: ThinkingOptions) -> dict[str, Any]:
    """Return the thinking level and the summaries option; the API has no budget."""
    if options.off:
        return {"thinking_level": "minimal"}
    level = {"thinking_level": _LEVELS.get(options.effort, options.effort)} if options.effort else {}
    return level | {"thinking_summaries": "none" if options.display == "omitted" else "auto"}


def _build_steps(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the history's steps, and the user's last message."""
    for turn in read_turns(conversation, API):
        if isinstance(turn, UserTurn):
            content = [
                _build_content(part) for part in turn.parts if part["type"] in MEDIA or part_text(part)
            ]
            if content:
                yield {"type": "user_input", "content": content}
            continue
        if isinstance(turn, SystemTurn):
            yield {"type": "user_input", "content": [{"type": "text", "text": turn.text}]}
            continue
        yield from _build_answer(turn.blocks)
        yield from map(_build_result, turn.results)


def _build_content(part: Block) -> dict[str, Any]:
    """Return a content item of a user's message or of a result."""
    if "data" in part:
        return {"type": part["type"], "mime_type": part["media_type"], "data": part["data"]}
    if place := part.get("url") or part.get("file_id"):
        return {"type": part["type"], "mime_type": part["media_type"], "uri": place}
    return {"type": "text", "text": part_text(part)}


def _build_answer(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Yield an answer's steps. Consecutive texts become content items of one step."""
    texts: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] in ("text", "refusal"):
            texts.append({"type": "text", "text": block["text"]})
            continue
        step = _build_step(block)
        if step is None:
            continue  # a citation, which belongs to the text before it
        if texts:
            yield {"type": "model_output", "content": texts}
            texts = []
        yield step
    if texts:
        yield {"type": "model_output", "content": texts}


def _build_step(block: Block) -> dict[str, Any] | None:
    """Return the step for a block, or None if it has none."""
    match block["type"]:
        case "thinking":
            return _build_thought(block.get("text", ""), block.get("signature"))
        case "tool_call":
            name = {"id": block["id"], "name": block["name"]}
            arguments = {"arguments": arguments_object(block)}
            if is_client_call(block):
                return {"type": "function_call", **name, **arguments}
            if block["name"] in HOSTED:
                signed = {"signature": block["signature"]} if block.get("signature") else {}
                taken = {} if block["name"] in _WITHOUT_ARGUMENTS else arguments
                return {"type": f"{block['name']}_call", "id": block["id"], **taken, **signed}
            return {"type": _MCP, **name, **arguments}
        case _ if str(block.get("kind")).endswith(_RESULT):
            data: dict[str, Any] = block["data"]
            return data
        case _:
            return None


def _build_thought(text: str, signature: str | None) -> dict[str, Any]:
    summary = {"summary": [{"type": "text", "text": text}]} if text else {}
    return {"type": "thought", **({"signature": signature} if signature else {}), **summary}


def _build_result(result: ToolResult) -> dict[str, Any]:
    """Return the step for a result."""
    failed = {"is_error": True} if result.error else {}
    value = _build_value(result.parts)
    return {"type": "function_result", "call_id": result.id, "name": result.name, "result": value, **failed}


def _build_value(parts: Sequence[Block]) -> Any:
    if any(part["type"] in MEDIA for part in parts):
        return [_build_content(part) for part in parts]
    if len(parts) == 1 and parts[0]["type"] == "json" and isinstance(parts[0]["value"], Mapping):
        return parts[0]["value"]
    return join_text(parts)
