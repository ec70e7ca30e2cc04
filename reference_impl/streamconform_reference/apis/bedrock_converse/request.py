"""Build the body of `POST /model/{modelId}/converse-stream` from a conversation.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, the user guide's
pages on tool use, reasoning and prompt caching, and the service model in botocore 1.44.5.

- The model is in the path. User and assistant messages alternate, so text that follows results is put in the
  same message, after the results.
- Reasoning is sent back at its position, with its signature, or as encrypted data. Unsigned reasoning is
  omitted, because Claude rejects it.
- A result is text, an image, or JSON if it is an object (other JSON values are rejected, so they become
  text). Its status says whether the tool failed. Content must not be blank, so an empty result gets a text
  that says it is empty.
- There is no option for "no tool" or for "one call at most". Leaving out all tools would prevent calls, but a
  history with calls requires `toolConfig`. The request therefore keeps its tools or, if it has none, declares
  the tools called in the history (langgenius/dify#17545, vxcontrol/pentagi#196).
- Converse has no thinking options: each model family has its own, in `additionalModelRequestFields`.
- Images have four formats; an image in any other format is replaced by text, and so is a file that is neither
  given as bytes nor stored in S3. A document has a name; a message with one also needs a text.
- `top_k` is a field of the model's own. There is no list of allowed tools, so only those are sent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from streamconform_reference.apis.anthropic_messages.request import (
    accepts_sampling,
    append,
    build_thinking,
    choose_system_role,
)
from streamconform_reference.requests.conversation import (
    MEDIA,
    Block,
    Conversation,
    SystemTurn,
    ToolResult,
    UserTurn,
    arguments_object,
    format_json,
    part_text,
    read_turns,
)
from streamconform_reference.requests.option_table import Option, collect_options, write_options
from streamconform_reference.requests.options import (
    Request,
    build_description,
    build_schema,
    build_strict,
    format_bearer,
    is_streamed,
    make_request,
    read_limit,
    read_output_schema,
    read_thinking,
    restrict_tools,
)

API: Final = "bedrock-converse"
OPTIONS: Final = (
    Option("max_tokens", "inferenceConfig.maxTokens"),
    Option("temperature", "inferenceConfig.temperature"),
    Option("top_p", "inferenceConfig.topP"),
    Option("stop", "inferenceConfig.stopSequences"),
    Option("service_tier", "serviceTier.type"),
    Option("metadata", "requestMetadata"),
)
IDS: Final = "[a-zA-Z0-9_-]{1,64}"  # the service also accepts `.` and `:`, but Claude does not
_FORMATS: Final = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS: Final = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}
_AUDIO: Final = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/flac": "flac"}
_FORMATS_OF_TYPE: Final = {"image": _FORMATS, "document": _DOCUMENTS, "audio": _AUDIO}
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9 ()\[\]-]+")
_DOCUMENT: Final = "document"
_S3: Final = "s3://"
_NO_TEXT: Final = "(see the document)"
_NO_CONTENT: Final = "(no output)"
_OTHER_FAMILIES: Final = ("nova", "openai.", "meta.", "mistral.", "deepseek.", "cohere.", "qwen.", "ai21.")
_NOVA_EFFORTS: Final = {"minimal": "low", "xhigh": "high", "max": "high"}


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    conversation = restrict_tools(conversation)
    cached = _build_cache_point(conversation.get("cache"))
    sent = build_messages(conversation)
    _number_documents(sent)
    last = next((message for message in reversed(sent) if message["role"] == "user"), None)
    if last:
        last["content"] += cached
    body: dict[str, Any] = {"messages": sent}
    if conversation.get("system"):
        body["system"] = [{"text": conversation["system"]}, *cached]
    body |= _build_tool_config(conversation, sent)
    tokens, extra = _build_model_fields(conversation)
    sampling = not _is_claude(conversation) or accepts_sampling(conversation, extra)
    options = collect_options(conversation, sampling=sampling)
    write_options(OPTIONS, options if tokens is None else options | {"max_tokens": tokens}, body)
    if "top_k" in options and _is_claude(conversation):
        extra = {**extra, "top_k": options["top_k"]}
    if extra:
        body["additionalModelRequestFields"] = extra
    output = read_output_schema(conversation)
    if output:
        schema = {"name": output.name, "schema": format_json(output.schema)}
        form = {"type": "json_schema", "structure": {"jsonSchema": schema}}
        body["outputConfig"] = {"textFormat": form}
    operation = "converse-stream" if is_streamed(conversation) else "converse"
    path = f"/model/{quote(conversation['model'], safe='')}/{operation}"
    return make_request(path, body, authorization=format_bearer())


def _build_tool_config(conversation: Conversation, sent: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tools and the tool choice as a field, if there are any."""
    choice = conversation.get("tool_choice")
    blocks = [block for message in sent for block in message["content"]]
    called = dict.fromkeys(block["toolUse"]["name"] for block in blocks if "toolUse" in block)
    tools = conversation.get("tools") or [{"name": name, "parameters": {}} for name in called]
    if not tools or (choice == "none" and not called):
        return {}
    config: dict[str, Any] = {"tools": []}
    for entry in tools:
        config["tools"] += [build_tool(entry), *_build_cache_point(entry.get("cache"))]
    if isinstance(choice, Mapping):
        config["toolChoice"] = {"tool": {"name": choice["name"]}}
    elif choice in ("auto", "required"):
        config["toolChoice"] = {"any" if choice == "required" else "auto": {}}
    return {"toolConfig": config}


def build_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the API's format."""
    spec = {
        "name": tool["name"],
        **build_description(tool),
        "inputSchema": {"json": build_schema(tool)},
        **build_strict(tool),
    }
    return {"toolSpec": spec}


def _build_cache_point(keep: str | None) -> list[dict[str, Any]]:
    """Return the cache mark, if caching is requested."""
    match keep:
        case "short":
            return [{"cachePoint": {"type": "default"}}]
        case "long":
            return [{"cachePoint": {"type": "default", "ttl": "1h"}}]
        case _:
            return []


def _is_claude(conversation: Conversation) -> bool:
    """Whether the model is Claude, which is assumed for unknown names, such as profiles."""
    return not any(family in conversation["model"] for family in _OTHER_FAMILIES)


def _build_model_fields(conversation: Conversation) -> tuple[int | None, dict[str, Any]]:
    """Return the token limit, if there is one, and the fields of this model family."""
    options, requested = read_thinking(conversation), read_limit(conversation)
    family = conversation["model"]
    if options is None:
        return requested, {}
    if "nova" in family:
        if options.off:
            return requested, {"reasoningConfig": {"type": "disabled"}}
        effort = _NOVA_EFFORTS.get(options.effort or "medium", options.effort or "medium")
        return requested, {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
    if not _is_claude(conversation):
        return requested, {
            "reasoning_effort": options.effort
        } if options.effort and "openai" in family else {}
    needed, fields = build_thinking(conversation)
    return (needed if "budget_tokens" in fields.get("thinking", {}) else requested), fields


def build_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the messages, with alternating roles."""
    sent: list[dict[str, Any]] = []
    for turn in read_turns(conversation, API, ids=IDS):
        if isinstance(turn, UserTurn):
            append(sent, "user", build_content(turn.parts))
        elif isinstance(turn, SystemTurn):
            append(sent, choose_system_role(conversation, turn, sent), [{"text": turn.text}])
        else:
            append(sent, "assistant", build_answer(turn.blocks))
            append(sent, "user", [build_tool_result(result) for result in turn.results])
    return sent


def build_content(parts: Sequence[Block], *, of_result: bool = False) -> list[dict[str, Any]]:
    """Return the parts as blocks; only results may contain JSON."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if part["type"] in MEDIA:
            blocks.append(_build_media(part))
        elif of_result and part["type"] == "json" and isinstance(part["value"], dict):
            blocks.append({"json": part["value"]})
        elif part_text(part).strip():
            blocks.append({"text": part_text(part)})
        blocks += _build_cache_point(part.get("cache"))
    if not of_result and any("document" in block for block in blocks):
        blocks += [] if any("text" in block for block in blocks) else [{"text": _NO_TEXT}]
    return blocks


def _number_documents(sent: Iterable[Mapping[str, Any]]) -> None:
    """Number the documents whose name is not the first of its kind, because the API rejects equal names."""
    documents = [block["document"] for message in sent for block in message["content"] if "document" in block]
    counts: Counter[str] = Counter()
    for document in documents:
        name = document["name"]
        counts[name] += 1
        if counts[name] > 1:
            document["name"] = f"{name} {counts[name]}"


def _build_media(part: Block) -> dict[str, Any]:
    """Return the block for a file, or a text that says which file is left out."""
    kind, source = part["type"], _build_source(part)
    form = _FORMATS_OF_TYPE[kind].get(part["media_type"])
    if form is None or source is None:
        text = f"(an image of type {part['media_type']} is left out)" if kind == "image" else part_text(part)
        return {"text": text}
    media: dict[str, Any] = {"format": form, "source": source}
    if kind == "document":
        # The API rejects other characters, and several spaces in a row.
        name = " ".join(_NOT_IN_NAMES.sub(" ", part.get("title", "")).split())
        media["name"] = name or _DOCUMENT
        if "citations" in part:
            media["citations"] = {"enabled": part["citations"]}
    return {kind: media}


def _build_source(part: Block) -> dict[str, Any] | None:
    if "data" in part:
        return {"bytes": part["data"]}
    if "text" in part:
        return {"text": part["text"]}
    place = part.get("url") or part.get("file_id") or ""
    return {"s3Location": {"uri": place}} if place.startswith(_S3) else None


def build_tool_result(result: ToolResult) -> dict[str, Any]:
    """Return a result in the API's format."""
    content = build_content(result.parts, of_result=True) or [{"text": _NO_CONTENT}]
    status = "error" if result.error else "success"
    return {"toolResult": {"toolUseId": result.id, "content": content, "status": status}}


def build_answer(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Return an answer's blocks; trailing reasoning is omitted."""
    sent: list[dict[str, Any]] = []
    for block in blocks:
        match block["type"]:
            case "text" | "refusal" if block["text"].strip():
                sent.append({"text": block["text"]})
            case "thinking" if block.get("signature"):
                sent.append({"reasoningContent": build_reasoning(block)})
            case "tool_call":
                sent.append({"toolUse": build_tool_use(block)})
            case "other" if block.get("kind") == "tool_result":
                sent.append({"toolResult": block["data"]})
            case "other" if block.get("kind") == "image":
                sent.append({"image": block["data"]})
            case _:
                pass  # blank text, unsigned thinking, citations
    while sent and "reasoningContent" in sent[-1]:
        sent.pop()
    return sent


def build_reasoning(block: Block) -> dict[str, Any]:
    """Return reasoning unchanged."""
    if block.get("redacted"):
        return {"redactedContent": block["signature"]}
    return {"reasoningText": {"text": block.get("text") or "", "signature": block["signature"]}}


def build_tool_use(call: Block) -> dict[str, Any]:
    """Return a call run by the client or by the provider."""
    kind = {"type": "server_tool_use"} if call.get("executor") == "provider" else {}
    return {"toolUseId": call["id"], "name": call["name"], "input": arguments_object(call), **kind}
