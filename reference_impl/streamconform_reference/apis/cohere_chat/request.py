"""Build the body of `POST /v2/chat` from a conversation.

Source: https://docs.cohere.com/reference/chat, https://docs.cohere.com/docs/tool-use-usage-patterns,
https://docs.cohere.com/docs/reasoning, and the types in the `cohere` package (7.3.1).

- Tools are in OpenAI's format. A choice is REQUIRED or NONE; auto is the absence of a choice. A named tool is
  requested as REQUIRED with only that tool, because there is no other way.
- The last thinking before calls becomes the `tool_plan`, since an outcome does not distinguish the two. Any
  other thinking is a content part before the text.
- A result that is a JSON object becomes a document, which the model can cite; any other result is text.
  Images are moved to a user message after the results, because a result cannot contain them.
- `strict_tools` applies to all tools or none: it is set if every tool is strict.
- The texts that the user gives as documents, which an answer can cite, are a field of the body. Other files
  are named in the text.
- Reasoning models think by default; the only options are to disable thinking and to set a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from streamconform_reference.apis.openai_chat.request import (
    IMAGES_FOLLOW,
    build_result_images,
    build_user_content,
)
from streamconform_reference.requests.conversation import (
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_text,
    filter_images,
    is_client_call,
    part_text,
    read_turns,
)
from streamconform_reference.requests.option_table import Option, collect_options, write_options
from streamconform_reference.requests.options import (
    Request,
    ThinkingOptions,
    build_function_tool,
    format_bearer,
    make_request,
    read_output_schema,
    read_thinking,
    restrict_tools,
)

API: Final = "cohere-chat"
OPTIONS: Final = (
    Option("max_tokens", "max_tokens"),
    Option("temperature", "temperature"),
    Option("top_p", "p"),
    Option("top_k", "k"),
    Option("seed", "seed"),
    Option("presence_penalty", "presence_penalty"),
    Option("frequency_penalty", "frequency_penalty"),
    Option("stop", "stop_sequences"),
    Option("stream", "stream"),
)
_CHOICES: Final = {"required": "REQUIRED", "none": "NONE"}


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    conversation = restrict_tools(conversation)
    body: dict[str, Any] = {"model": conversation["model"], "messages": list(build_messages(conversation))}
    documents = list(_build_documents(conversation))
    if documents:
        body["documents"] = documents
    if "logprobs" in conversation:
        body["logprobs"] = True
    body |= _build_tool_fields(conversation)
    write_options(OPTIONS, collect_options(conversation), body)
    options = read_thinking(conversation)
    if options:
        body["thinking"] = build_thinking(options)
    output = read_output_schema(conversation)
    if output:
        body["response_format"] = {"type": "json_object", "json_schema": output.schema}
    return make_request("/v2/chat", body, authorization=format_bearer())


def _build_documents(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the user's documents that are plain text."""
    for turn in read_turns(conversation, API):
        for part in turn.parts if isinstance(turn, UserTurn) else ():
            if _is_text_document(part):
                title = {"title": part["title"]} if "title" in part else {}
                yield {"data": {**title, "text": part["text"]}}


def _is_text_document(part: Block) -> bool:
    return part["type"] == "document" and "text" in part


def _build_tool_fields(conversation: Conversation) -> dict[str, Any]:
    """Return the tools and the tool choice as fields, if there are any."""
    tools = conversation.get("tools", [])
    if not tools:
        return {}
    choice = conversation.get("tool_choice", "auto")
    fields: dict[str, Any] = {}
    if isinstance(choice, str):
        fields |= {"tool_choice": _CHOICES[choice]} if choice in _CHOICES else {}
    else:
        tools = [tool for tool in tools if tool["name"] == choice["name"]] or tools
        fields["tool_choice"] = "REQUIRED"
    if all(tool.get("strict") for tool in tools):
        fields["strict_tools"] = True
    return {"tools": [build_function_tool(tool) for tool in tools], **fields}


def build_thinking(options: ThinkingOptions) -> dict[str, Any]:
    """Return the options that enable or disable thinking, and the budget."""
    if options.off:
        return {"type": "disabled"}
    return {"type": "enabled", **({"token_budget": options.budget} if options.budget else {})}


def build_messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the messages."""
    if conversation.get("system"):
        yield {"role": "system", "content": conversation["system"]}
    for turn in read_turns(conversation, API):
        if isinstance(turn, UserTurn):
            parts = [part for part in turn.parts if not _is_text_document(part)]
            yield {"role": "user", "content": _build_user_content(parts)}
            continue
        if isinstance(turn, SystemTurn):
            yield {"role": "system", "content": turn.text}
            continue
        message = build_answer(turn.blocks)
        if message:
            yield message
        yield from (build_tool_message(result) for result in turn.results)
        images = list(build_result_images(turn.results))
        if images:
            yield {"role": "user", "content": images}


def _build_user_content(parts: Sequence[Block]) -> Any:
    """Return the user's content, in which a file that is not an image is named in a text."""
    kept = [
        part if part["type"] == "image" else {"type": "text", "text": part_text(part)}
        for part in parts
        if part["type"] == "image" or part_text(part)
    ]
    return build_user_content(kept, {})


def build_answer(blocks: Sequence[Block]) -> dict[str, Any] | None:
    """Return an answer's message, or None if it would be empty."""
    thoughts = [block["text"] for block in blocks if block["type"] == "thinking" and block.get("text")]
    text = "".join(block["text"] for block in blocks if block["type"] in ("text", "refusal"))
    calls = [build_tool_call(block) for block in blocks if is_client_call(block)]
    if not (thoughts or text or calls):
        return None
    message: dict[str, Any] = {"role": "assistant"}
    plan = thoughts.pop() if calls and thoughts else None
    if thoughts:
        content = [{"type": "thinking", "thinking": thought} for thought in thoughts]
        message["content"] = [*content, *([{"type": "text", "text": text}] if text else [])]
    elif text:
        message["content"] = text
    if plan:
        message["tool_plan"] = plan
    if calls:
        message["tool_calls"] = calls
    return message


def build_tool_call(call: Block) -> dict[str, Any]:
    """Return a call; its arguments are text."""
    function = {"name": call["name"], "arguments": arguments_text(call)}
    return {"id": call["id"], "type": "function", "function": function}


def build_tool_message(result: ToolResult) -> dict[str, Any]:
    """Return the message for a result: text, or parts if it contains JSON objects."""
    parts = [_build_result_part(part) for part in result.parts if part["type"] != "image"]
    if filter_images(result.parts):
        parts.append({"type": "text", "text": IMAGES_FOLLOW})
    if all(part["type"] == "text" for part in parts):
        return {
            "role": "tool",
            "tool_call_id": result.id,
            "content": "\n".join(part["text"] for part in parts),
        }
    return {"role": "tool", "tool_call_id": result.id, "content": parts}


def _build_result_part(part: Block) -> dict[str, Any]:
    """Return a part of a result, except images."""
    if part["type"] == "json" and isinstance(part["value"], dict):
        return {"type": "document", "document": {"data": part["value"]}}
    return {"type": "text", "text": part_text(part)}
