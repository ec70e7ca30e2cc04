"""A conversation in, the body of `streamGenerateContent` out.

Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/function-calling,
https://ai.google.dev/gemini-api/docs/thought-signatures, https://ai.google.dev/gemini-api/docs/thinking, and
the types of the `google-genai` package 3.4.0.

- The model is in the path. Whether to stream is the name of the method.
- Tools have real JSON Schemas, which `parameters` would not take. One without parameters has no schema.
- An answer is one content, all calls in it, and all results are one content of the user, in the same order.
- A result is `output`, or `error` where the tool failed. It is never the response itself: an object that
  happens to have the key `error` would be a failure. Images are parts of the response for Gemini 3, and
  parts beside it for the models before, which do not look inside.
- A signature goes back on the part with which it came. An outcome has it as thinking without text, directly
  before a call or another part, or directly behind a text; where it is neither, it came on an empty text.
- A signed thought directly before a call may have its signature from either, so both have it: Gemini 3
  refuses a call without one, and nobody refuses a thought with one.
- Gemini 3 refuses the first call of an answer that another model wrote, since nothing signs it. `UNSIGNED`
  is what Google documents for such histories.
- There is no word for "one call at most", and none for strict schemas of single tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from streamconform_reference.requests.conversation import (
    AnswerTurn,
    Block,
    Conversation,
    Result,
    UserTurn,
    arguments_object,
    images_of,
    is_client_call,
    part_text,
    text_of,
    turns,
)
from streamconform_reference.requests.options import (
    KEY,
    Request,
    Thinking,
    described,
    limit,
    schema,
    streamed,
    thinking,
    to_json,
)

from .decode import METADATA

API: Final = "google-generate"
UNSIGNED: Final = "skip_thought_signature_validator"
_GEMINI_3: Final = re.compile(r"gemini-(?!1\.|2\.|pro$|pro-vision)")
"""The third and later, and the names without a number, which are those of the newest."""
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_LEVELS: Final = {"max": "HIGH"}
_NO_PARTS: Final = (*METADATA, "citation")


def build(conversation: Conversation) -> Request:
    """Return the request."""
    body: dict[str, Any] = {"contents": list(contents(conversation))}
    if conversation.get("system"):
        body["systemInstruction"] = {"parts": [{"text": conversation["system"]}]}
    if conversation.get("tools"):
        body["tools"] = [{"functionDeclarations": [declaration(tool) for tool in conversation["tools"]]}]
        if "tool_choice" in conversation:
            calling = calling_config(conversation["tool_choice"])
            body["toolConfig"] = {"functionCallingConfig": calling}
    settings: dict[str, Any] = {}
    if "max_tokens" in conversation:
        settings["maxOutputTokens"] = limit(conversation)
    if "temperature" in conversation:
        settings["temperature"] = conversation["temperature"]
    wish = thinking(conversation)
    if wish:
        settings["thinkingConfig"] = thinking_config(wish)
    if settings:
        body["generationConfig"] = settings
    method = "streamGenerateContent?alt=sse" if streamed(conversation) else "generateContent"
    name = quote(conversation["model"].removeprefix("models/"), safe="")
    return to_json(f"/v1beta/models/{name}:{method}", body, x_goog_api_key=KEY)


def declaration(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool."""
    parameters = schema(tool)
    named = {"name": tool["name"], **described(tool)}
    return named | ({"parametersJsonSchema": parameters} if parameters["properties"] else {})


def calling_config(asked: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the choice: a tool by name is any of that one."""
    if isinstance(asked, Mapping):
        return {"mode": "ANY", "allowedFunctionNames": [asked["name"]]}
    return {"mode": _MODES[asked]}


def thinking_config(wish: Thinking) -> dict[str, Any]:
    """Return how to think, by tokens or by level, never both; models that take a level cannot be silenced."""
    leveled = wish.by in ("effort", "adaptive")
    if wish.off:
        return {"thinkingLevel": "MINIMAL"} if leveled else {"thinkingBudget": 0}
    config: dict[str, Any] = {"includeThoughts": True}
    if wish.by_budget:
        config["thinkingBudget"] = -1 if wish.budget is None else wish.budget
    elif wish.effort:
        config["thinkingLevel"] = _LEVELS.get(wish.effort, wish.effort.upper())
    return config


def contents(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the contents; one without parts would be refused."""
    before_3 = _GEMINI_3.search(conversation["model"]) is None
    for turn in turns(conversation, API):
        if isinstance(turn, UserTurn):
            said = [part(each) for each in turn.parts if each["type"] == "image" or part_text(each)]
            if said:
                yield {"role": "user", "parts": said}
            continue
        parts = answer(turn, unsigned=None if before_3 else UNSIGNED)
        if parts:
            yield {"role": "model", "parts": parts}
        if turn.results:
            yield {"role": "user", "parts": list(responses(turn.results, beside=before_3))}


def part(given: Block) -> dict[str, Any]:
    """Return a part of what the user says, or an image of a result."""
    if given["type"] == "image":
        return {"inlineData": {"mimeType": given["media_type"], "data": given["data"]}}
    return {"text": part_text(given)}


def responses(results: Sequence[Result], *, beside: bool) -> Iterator[dict[str, Any]]:
    """Yield the parts of results, and behind them their images, where these are not inside."""
    for result in results:
        response: dict[str, Any] = {"id": result.id, "name": result.name, "response": outcome(result)}
        images = images_of(result.parts)
        if images and not beside:
            response["parts"] = [part(image) for image in images]
        yield {"functionResponse": response}
    if beside:
        yield from (part(image) for result in results for image in images_of(result.parts))


def outcome(result: Result) -> dict[str, Any]:
    """Return what a tool gave: a JSON value as itself, else text."""
    told = [each for each in result.parts if each["type"] != "image"]
    alone = len(told) == 1 and told[0]["type"] == "json"
    return {"error" if result.error else "output": told[0]["value"] if alone else text_of(told)}


def answer(turn: AnswerTurn, *, unsigned: str | None) -> list[dict[str, Any]]:
    """Return the parts of an answer. `unsigned` is the signature of what another model wrote."""
    parts: list[dict[str, Any]] = []
    blocks = [block for block in turn.blocks if block.get("kind") not in _NO_PARTS]
    waiting: str | None = None
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        signature = block.get("signature") if block["type"] == "thinking" else None
        if signature and not block.get("text"):
            waiting = placed(parts, signature, following)
            continue
        parts.append(answer_part(block))
        if waiting:
            parts[-1]["thoughtSignature"] = waiting
        waiting = None
        if signature:
            parts[-1]["thoughtSignature"] = signature
            waiting = signature if following and is_client_call(following) else None
    if unsigned and not turn.own:
        sign_first(parts, unsigned)
    return parts


def placed(parts: list[dict[str, Any]], signature: str, following: Block | None) -> str | None:
    """Return a signature of the part that follows; else put it on the text before, or on an empty one."""
    if following and following["type"] in ("tool_call", "other"):
        return signature
    if parts and "text" in parts[-1] and not {"thought", "thoughtSignature"} & parts[-1].keys():
        parts[-1]["thoughtSignature"] = signature
    else:
        parts.append({"text": "", "thoughtSignature": signature})
    return None


def sign_first(parts: Iterable[dict[str, Any]], signature: str) -> None:
    """Sign the first call, as the model itself would have."""
    first = next((each for each in parts if "functionCall" in each), None)
    if first:
        first.setdefault("thoughtSignature", signature)


def answer_part(block: Block) -> dict[str, Any]:
    """Return the part of a block that is no lone signature."""
    match block["type"]:
        case "thinking":
            return {"text": block["text"], "thought": True}
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
