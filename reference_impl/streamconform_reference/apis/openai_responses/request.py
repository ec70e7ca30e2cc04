"""Build the body of `POST /v1/responses` from a conversation, without storing state at the provider.

Source: https://platform.openai.com/docs/api-reference/responses/create,
https://platform.openai.com/docs/guides/reasoning and https://platform.openai.com/docs/guides/function-calling,
and the types in the `openai` package (3.54.0).

- `store` is true by default, so the request always sets it to false. The model's thinking is then in the
  encrypted content of its reasoning items, which is requested unless the model is known not to think.
- In an outcome, the encrypted content is the thinking's signature, and there are no item ids. The types
  require an id for a reasoning item. Without stored state, there is nothing to look up, and OpenAI returns a
  404 for an id (NousResearch/hermes-agent#10217, vercel/ai#7543); one host requires the id
  (dotnet/extensions#7628).
- A reasoning item must be directly followed by the item that it led to. Without such an item, or without
  encrypted content, it is omitted, because the API rejects it.
- `strict` is true by default, so tools that are not strict send `false`.
- Results are text, or parts if they contain an image. The API has no field for a failure, so the text
  describes it.
- Calls that the provider ran are sent back as their original items.
- A stored answer that the request continues is named, and the new one is stored too.
- The API has no audio, no stop sequences, no seed and no penalties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform_reference.apis.openai_chat.request import (
    DEFAULT_FILENAME,
    accepts_sampling,
    build_breakpoint,
    build_cache,
    build_user,
    find_prefix,
)
from streamconform_reference.requests.conversation import (
    MEDIA,
    AnswerTurn,
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_text,
    find_url,
    format_data_url,
    is_client_call,
    is_free_text,
    join_text,
    part_text,
    read_echo,
    read_turns,
)
from streamconform_reference.requests.option_table import Option, collect_options, write_options
from streamconform_reference.requests.options import (
    Request,
    ThinkingOptions,
    build_description,
    build_schema,
    find_tool_kind,
    format_bearer,
    make_request,
    read_facts,
    read_grammar,
    read_output_schema,
    read_thinking,
)

from .calls import CALLS

API: Final = "openai-responses"
OPTIONS: Final = (
    Option("max_tokens", "max_output_tokens"),
    Option("temperature", "temperature"),
    Option("top_p", "top_p"),
    Option("service_tier", "service_tier"),
    Option("metadata", "metadata"),
    Option("stream", "stream"),
)
IDS: Final = r"[\s\S]{1,64}"
_ENCRYPTED: Final = "reasoning.encrypted_content"
_LOGPROBS: Final = "message.output_text.logprobs"
_STORED: Final = ("previous_response_id", "prompt")
"""The options that refer to what the provider has stored."""

# Items, other than calls, that the provider requires back.
_KEPT_ITEMS: Final = frozenset(
    {"compaction", "mcp_list_tools", "program", "program_output", "tool_search_output", *CALLS}
)


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    items = list(_drop_repeated(_build_items(conversation)))
    body: dict[str, Any] = {"model": conversation["model"], "input": items}
    if conversation.get("system"):
        body["instructions"] = conversation["system"]
    if conversation.get("tools"):
        body["tools"] = [build_tool(entry) for entry in conversation["tools"]]
        if "tool_choice" in conversation:
            body["tool_choice"] = _build_tool_choice(conversation)
        if "parallel_tool_calls" in conversation:
            body["parallel_tool_calls"] = conversation["parallel_tool_calls"]
    options = read_thinking(conversation)
    if options:
        body["reasoning"] = build_reasoning(options)
    sampling = accepts_sampling(conversation, options)
    write_options(OPTIONS, collect_options(conversation, sampling=sampling), body)
    body |= build_user(conversation)
    body |= {name: conversation[name] for name in _STORED if name in conversation}
    output = read_output_schema(conversation)
    if output:
        schema = {"name": output.name, "schema": output.schema, **output.build_strict()}
        body["text"] = {"format": {"type": "json_schema", **schema}}
    body["store"] = "previous_response_id" in conversation
    include = [] if body["store"] or read_facts(conversation).get("thinking") == "none" else [_ENCRYPTED]
    if sampling and "logprobs" in conversation:
        body["top_logprobs"] = conversation["logprobs"]
        include.append(_LOGPROBS)
    if include:
        body["include"] = include
    body |= build_cache(conversation)
    return make_request(f"{find_prefix(conversation)}/responses", body, authorization=format_bearer())


def build_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the API's format."""
    if "format" in tool:
        grammar = read_grammar(tool)
        form = {"format": {"type": "grammar", **grammar}} if grammar else {}
        return {"type": "custom", "name": tool["name"], **build_description(tool), **form}
    return {
        "type": "function",
        "name": tool["name"],
        **build_description(tool),
        "parameters": build_schema(tool),
        "strict": tool.get("strict", False),
    }


def _build_tool_choice(conversation: Conversation) -> Any:
    """Return the tool choice, which is a string unless it names tools."""
    query = conversation["tool_choice"]
    if isinstance(query, str):
        return query
    if "allowed" in query:
        tools = [_name_tool(conversation, name) for name in query["allowed"]]
        return {"type": "allowed_tools", "mode": query["mode"], "tools": tools}
    return _name_tool(conversation, query["name"])


def _name_tool(conversation: Conversation, name: str) -> dict[str, Any]:
    return {"type": find_tool_kind(conversation, name), "name": name}


def build_reasoning(options: ThinkingOptions) -> dict[str, Any]:
    """Return the effort, and request a summary whenever thinking is requested, unless it is to be omitted."""
    if options.off:
        return {"effort": "none"}
    summary = {} if options.display == "omitted" else {"summary": "auto"}
    return {**({"effort": options.effort} if options.effort else {}), **summary}


def _build_items(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the input items."""
    for turn in read_turns(conversation, API, ids=IDS):
        if isinstance(turn, UserTurn):
            yield {"type": "message", "role": "user", "content": build_content(turn.parts, conversation)}
        elif isinstance(turn, SystemTurn):
            content = [{"type": "input_text", "text": turn.text}]
            yield {"type": "message", "role": "developer", "content": content}
        else:
            yield from build_answer(turn)
            calls = {call["id"]: call for call in turn.blocks if is_client_call(call)}
            yield from (_build_output(result, calls[result.id], conversation) for result in turn.results)


def build_content(parts: Sequence[Block], conversation: Conversation) -> list[dict[str, Any]]:
    """Return the parts in the API's format."""
    return [_build_part(part) | build_breakpoint(conversation, part.get("cache")) for part in parts]


def _build_part(part: Block) -> dict[str, Any]:
    """Return a part; a file that the API cannot take is named in a text."""
    if part["type"] not in ("image", "document") or "text" in part:
        return {"type": "input_text", "text": part_text(part)}
    if part["type"] == "image":
        key, detail = "image_url", {"type": "input_image", "detail": "auto"}
        return {**detail, **({"file_id": part["file_id"]} if "file_id" in part else {key: find_url(part)})}
    if "file_id" in part:
        return {"type": "input_file", "file_id": part["file_id"]}
    if "url" in part:
        return {"type": "input_file", "file_url": part["url"]}
    name = part.get("title", DEFAULT_FILENAME)
    return {"type": "input_file", "filename": name, "file_data": format_data_url(part)}


def _build_output(result: ToolResult, call: Block, conversation: Conversation) -> dict[str, Any]:
    """Return the item for a call's result, which has the same caller."""
    kind = "custom_tool_call_output" if is_free_text(call) else "function_call_output"
    has_files = any(part["type"] in MEDIA for part in result.parts)
    content: Any = build_content(result.parts, conversation) if has_files else join_text(result.parts)
    caller = {name: value for name, value in read_echo(call).items() if name == "caller"}
    return {"type": kind, "call_id": result.id, "output": content, **caller}


def build_answer(turn: AnswerTurn) -> Iterator[dict[str, Any]]:
    """Yield an answer's items. Reasoning waits for the item after it."""
    waiting: list[dict[str, Any]] = []
    for item in _build_answer_items(turn.blocks):
        if item["type"] == "reasoning":
            waiting.append(item)
        else:
            yield from waiting
            waiting = []
            yield item


def _build_answer_items(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Yield an item for each block that has one."""
    for block in blocks:
        match block["type"]:
            case "text":
                yield _build_message(_build_text(block)) | (
                    {"phase": block["phase"]} if block.get("phase") else {}
                )
            case "refusal":
                yield _build_message({"type": "refusal", "refusal": block["text"]})
            case "thinking" if block.get("signature"):
                yield build_thinking_block(block)
            case "tool_call" if is_client_call(block):
                yield build_tool_call(block)
            case "other" if block.get("kind") in _KEPT_ITEMS:
                yield block["data"]
            case _:
                pass  # unencrypted reasoning, and calls whose item is an `other` block


def _drop_repeated(items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the items, each id once: the API rejects a history in which a retried answer repeats an item."""
    sent: set[str] = set()
    for item in items:
        name = item.get("id")
        if not isinstance(name, str) or name not in sent:
            yield item
        if isinstance(name, str):
            sent.add(name)


def _build_text(block: Block) -> dict[str, Any]:
    """Return text as a message part, with its annotations."""
    cited = [citation["data"] for citation in block.get("citations") or () if "data" in citation]
    return {"type": "output_text", "text": block["text"], **({"annotations": cited} if cited else {})}


def _build_message(part: dict[str, Any]) -> dict[str, Any]:
    """Return an assistant message with one part."""
    return {"type": "message", "role": "assistant", "content": [part]}


def build_thinking_block(block: Block) -> dict[str, Any]:
    """Return a reasoning item; its summary is required, even if empty."""
    text = block.get("text")
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "summary": summary, "encrypted_content": block["signature"]}


def build_tool_call(call: Block) -> dict[str, Any]:
    """Return a call as an item."""
    name_fields = {**read_echo(call), "call_id": call["id"], "name": call["name"]}
    if is_free_text(call):
        return {"type": "custom_tool_call", **name_fields, "input": call["arguments"]}
    return {"type": "function_call", **name_fields, "arguments": arguments_text(call)}
