"""Build the body of `POST /api/chat` from a conversation.

Source: https://docs.ollama.com/api/chat, https://docs.ollama.com/capabilities/tool-calling,
https://docs.ollama.com/capabilities/thinking, and the types in
https://github.com/ollama/ollama/blob/main/api/types.go

- Tools are in OpenAI's format, and `properties` has to be an object (ollama/ollama#10328). There is no tool
  choice: for `none`, no tools are sent; `required` cannot be expressed.
- Arguments are an object. The server rejects text (neuron-core/neuron-ai#219).
- A result names its tool and its call; images are in a separate field of its message.
- `think` is a boolean or a level. Models with levels accept nothing else: for `off` they get `low`, and if no
  level is requested, the field is omitted (ollama/ollama#11751). The server rejects `think` for models that
  cannot think. There is no level below `low`.
- `stream` is always sent, because the server streams by default.
- Images are given as bytes; other files are named in the text, and text documents are text.
- There is no API key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from streamconform_reference.requests.conversation import (
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_object,
    filter_images,
    is_client_call,
    join_text,
    read_turns,
)
from streamconform_reference.requests.option_table import Option, collect_options, write_options
from streamconform_reference.requests.options import (
    Request,
    ThinkingOptions,
    build_function_tool,
    make_request,
    read_output_schema,
    read_thinking,
    restrict_tools,
)

API: Final = "ollama-chat"
OPTIONS: Final = (
    Option("max_tokens", "options.num_predict"),
    Option("temperature", "options.temperature"),
    Option("stop", "options.stop"),
    Option("top_p", "options.top_p"),
    Option("top_k", "options.top_k"),
    Option("seed", "options.seed"),
    Option("presence_penalty", "options.presence_penalty"),
    Option("frequency_penalty", "options.frequency_penalty"),
    Option("stream", "stream"),
)
_LEVELS: Final = {"minimal": "low", "xhigh": "max"}


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    conversation = restrict_tools(conversation)
    body: dict[str, Any] = {"model": conversation["model"], "messages": list(build_messages(conversation))}
    if conversation.get("tools") and conversation.get("tool_choice") != "none":
        body["tools"] = [build_function_tool(tool) for tool in conversation["tools"]]
    output = read_output_schema(conversation)
    if output:
        body["format"] = output.schema
    write_options(OPTIONS, collect_options(conversation), body)
    if "logprobs" in conversation:
        body |= {"logprobs": True, "top_logprobs": conversation["logprobs"]}
    thinking = read_thinking(conversation)
    if thinking:
        body |= _build_think(thinking)
    return make_request("/api/chat", body)


def _build_think(options: ThinkingOptions) -> dict[str, Any]:
    """Return the field that enables or disables thinking or sets its level, if one is to be sent."""
    if options.by != "effort" and not (options.by is None and options.requested_effort):
        return {"think": not options.off}
    effort = "low" if options.off else options.effort
    return {"think": _LEVELS.get(effort, effort)} if effort else {}


def build_messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the messages."""
    if conversation.get("system"):
        yield {"role": "system", "content": conversation["system"]}
    for turn in read_turns(conversation, API):
        if isinstance(turn, UserTurn):
            yield {"role": "user", "content": join_text(turn.parts), **_build_images(turn.parts)}
            continue
        if isinstance(turn, SystemTurn):
            yield {"role": "system", "content": turn.text}
            continue
        message = build_answer(turn.blocks)
        if message:
            yield message
        yield from (build_tool_message(result) for result in turn.results)


def _build_images(parts: Sequence[Block]) -> dict[str, Any]:
    """Return a field with the images as base64 without a type, if there are any."""
    data = [image["data"] for image in filter_images(parts) if "data" in image]
    return {"images": data} if data else {}


def build_answer(blocks: Sequence[Block]) -> dict[str, Any] | None:
    """Return an answer's message, or None if it would be empty."""
    text = "".join(block["text"] for block in blocks if block["type"] in ("text", "refusal"))
    thoughts = "".join(block.get("text") or "" for block in blocks if block["type"] == "thinking")
    calls = [
        {"id": block["id"], "function": {"name": block["name"], "arguments": arguments_object(block)}}
        for block in blocks
        if is_client_call(block)
    ]
    if not (text or thoughts or calls):
        return None
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if thoughts:
        message["thinking"] = thoughts
    if calls:
        message["tool_calls"] = calls
    return message


def build_tool_message(result: ToolResult) -> dict[str, Any]:
    """Return the message for a result."""
    return {
        "role": "tool",
        "content": join_text(result.parts),
        "tool_name": result.name,
        "tool_call_id": result.id,
        **_build_images(result.parts),
    }
