"""Build the body of `streamGenerateContent` from a conversation.

Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/function-calling,
https://ai.google.dev/gemini-api/docs/thought-signatures, https://ai.google.dev/gemini-api/docs/thinking, and
the types in the `google-genai` package (3.4.0).

- The model is in the path. The method name selects streaming.
- Tools have full JSON Schemas, which `parameters` does not accept. A tool without parameters has no schema.
- An answer is one `content` with all its calls, and all results are one user `content`, in the same order.
- A result is in `output`, or in `error` if the tool failed. The result is never the response itself, because
  an object that happens to have the key `error` would count as a failure. For Gemini 3, images are parts
  inside the response; earlier models would ignore them there, so for those models they are parts next to the
  response.
- A signature is sent back on its original part. For `other` blocks, such as images, the signature is in a
  thinking block without text, directly before them.
- Gemini 3 rejects an answer from another model if its first call has no signature. `_PLACEHOLDER_SIGNATURE`
  is the value that Google documents for such histories.
- There is no option for "one call at most", and no way to make an individual tool's schema strict.
- A file is given as bytes, or as the address of an uploaded or public file; text documents are text.
- Instructions between messages have no role of their own, so they are the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from streamconform_reference.requests.conversation import (
    MEDIA,
    AnswerTurn,
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
    is_streamed,
    make_request,
    read_output_schema,
    read_thinking,
)

from .decode import METADATA

API: Final = "google-generate"
OPTIONS: Final = (
    Option("max_tokens", "generationConfig.maxOutputTokens"),
    Option("temperature", "generationConfig.temperature"),
    Option("top_p", "generationConfig.topP"),
    Option("top_k", "generationConfig.topK"),
    Option("seed", "generationConfig.seed"),
    Option("presence_penalty", "generationConfig.presencePenalty"),
    Option("frequency_penalty", "generationConfig.frequencyPenalty"),
    Option("stop", "generationConfig.stopSequences"),
    Option("service_tier", "serviceTier"),
)
_PLACEHOLDER_SIGNATURE: Final = "skip_thought_signature_validator"
_GEMINI_3: Final = re.compile(r"gemini-(?!1\.|2\.|pro$|pro-vision)")
"""Matches Gemini 3 and later, and names without a version number, which refer to the newest models."""
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_LEVELS: Final = {"max": "HIGH"}
_NO_PARTS: Final = (*METADATA, "citation")


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    body: dict[str, Any] = {"contents": list(_build_contents(conversation))}
    if conversation.get("system"):
        body["systemInstruction"] = {"parts": [{"text": conversation["system"]}]}
    if conversation.get("tools"):
        body["tools"] = [
            {"functionDeclarations": [_build_declaration(tool) for tool in conversation["tools"]]}
        ]
        if "tool_choice" in conversation:
            calling = _build_calling_config(conversation["tool_choice"])
            body["toolConfig"] = {"functionCallingConfig": calling}
    settings: dict[str, Any] = {}
    output = read_output_schema(conversation)
    if output:
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": output.schema}
    options = read_thinking(conversation)
    if options:
        settings["thinkingConfig"] = _build_thinking_config(options)
    if "logprobs" in conversation:
        settings |= {"responseLogprobs": True, "logprobs": conversation["logprobs"]}
    if settings:
        body["generationConfig"] = settings
    write_options(OPTIONS, collect_options(conversation), body)
    method = "streamGenerateContent?alt=sse" if is_streamed(conversation) else "generateContent"
    name = quote(conversation["model"].removeprefix("models/"), safe="")
    return make_request(f"/v1beta/models/{name}:{method}", body, x_goog_api_key=API_KEY)


def _build_declaration(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the API's format."""
    parameters = build_schema(tool)
    name_fields = {"name": tool["name"], **build_description(tool)}
    return name_fields | ({"parametersJsonSchema": parameters} if parameters["properties"] else {})


def _build_calling_config(requested: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool choice; a named tool is requested as ANY with only that tool."""
    if isinstance(requested, Mapping):
        mode = "VALIDATED" if requested.get("mode") == "auto" else "ANY"
        return {"mode": mode, "allowedFunctionNames": requested.get("allowed") or [requested["name"]]}
    return {"mode": _MODES[requested]}


def _build_thinking_config(options: ThinkingOptions) -> dict[str, Any]:
    """Return the budget or the level, but never both; models with levels cannot disable thinking."""
    leveled = options.by in ("effort", "adaptive")
    if options.off:
        return {"thinkingLevel": "MINIMAL"} if leveled else {"thinkingBudget": 0}
    config: dict[str, Any] = {"includeThoughts": options.display != "omitted"}
    if options.by_budget:
        config["thinkingBudget"] = -1 if options.budget is None else options.budget
    elif options.effort:
        config["thinkingLevel"] = _LEVELS.get(options.effort, options.effort.upper())
    return config


def _build_contents(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the contents, leaving out empty ones, which the API rejects."""
    before_3 = _GEMINI_3.search(conversation["model"]) is None
    for turn in read_turns(conversation, API):
        if isinstance(turn, UserTurn):
            content = [
                _build_part(entry) for entry in turn.parts if entry["type"] in MEDIA or part_text(entry)
            ]
            if content:
                yield {"role": "user", "parts": content}
            continue
        if isinstance(turn, SystemTurn):
            yield {"role": "user", "parts": [{"text": turn.text}]}
            continue
        parts = build_answer(turn, unsigned=None if before_3 else _PLACEHOLDER_SIGNATURE)
        if parts:
            yield {"role": "model", "parts": parts}
        if turn.results:
            yield {"role": "user", "parts": list(_build_responses(turn.results, beside=before_3))}


def _build_part(block: Block) -> dict[str, Any]:
    """Return a part of a user message, or an image from a result."""
    if "data" in block:
        return {"inlineData": {"mimeType": block["media_type"], "data": block["data"]}}
    if place := block.get("url") or block.get("file_id"):
        return {"fileData": {"mimeType": block["media_type"], "fileUri": place}}
    return {"text": part_text(block)}


def _build_responses(results: Sequence[ToolResult], *, beside: bool) -> Iterator[dict[str, Any]]:
    """Yield the parts of results, followed by their images if the parts do not contain them."""
    for result in results:
        response: dict[str, Any] = {"id": result.id, "name": result.name, "response": build_response(result)}
        images = _filter_files(result.parts)
        if images and not beside:
            response["parts"] = [_build_part(image) for image in images]
        yield {"functionResponse": response}
    if beside:
        yield from (_build_part(image) for result in results for image in _filter_files(result.parts))


def _filter_files(parts: Sequence[Block]) -> list[Block]:
    return [part for part in parts if part["type"] in MEDIA]


def build_response(result: ToolResult) -> dict[str, Any]:
    """Return a tool's output: a single JSON value unchanged, anything else as text."""
    parts = [entry for entry in result.parts if entry["type"] not in MEDIA]
    alone = len(parts) == 1 and parts[0]["type"] == "json"
    return {"error" if result.error else "output": parts[0]["value"] if alone else join_text(parts)}


def build_answer(turn: AnswerTurn, *, unsigned: str | None) -> list[dict[str, Any]]:
    """Return an answer's parts. `unsigned` is the placeholder signature for other models' calls."""
    parts: list[dict[str, Any]] = []
    blocks = [block for block in turn.blocks if block.get("kind") not in _NO_PARTS]
    waiting: str | None = None
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        signature = waiting or block.get("signature")
        is_lone = block["type"] == "thinking" and not block.get("text")
        if is_lone and following and following["type"] == "other":
            waiting = signature
            continue
        waiting = None
        parts.append(_build_answer_part(block) | ({"thoughtSignature": signature} if signature else {}))
    if unsigned and not turn.by_same_model:
        _sign_first(parts, unsigned)
    return parts


def _sign_first(parts: Iterable[dict[str, Any]], signature: str) -> None:
    """Sign the first call, as the model itself would."""
    first = next((entry for entry in parts if "functionCall" in entry), None)
    if first:
        first.setdefault("thoughtSignature", signature)


def _build_answer_part(block: Block) -> dict[str, Any]:
    """Return the part for a block, without its signature."""
    match block["type"]:
        case "thinking":
            return {"text": block.get("text", ""), "thought": True}
        case "tool_call" if is_client_call(block):
            call = {"id": block["id"], "name": block["name"], "args": arguments_object(block)}
            return {"functionCall": call}
        case "tool_call":
            call = {"id": block["id"], "toolType": block["name"], "args": arguments_object(block)}
            return {"toolCall": call}
        case "other":
            return {block["kind"]: block["data"]}
        case _:
            return {"text": block["text"]}
