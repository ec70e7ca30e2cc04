"""Spellings of one request that a provider takes alike, brought to one. Pure.

A client may send a text as a string or as a list of one part, `null` or nothing, a key as proto3 JSON has it
or in the snake case that its parser takes too; none of that is judged. Only what the provider's documentation
calls equal is here, each with its source; user data (arguments, results, schemas) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Json = Any
SNAKE: Final = re.compile(r"_([a-z0-9])")
OPAQUE: Final = frozenset({"args", "response", "properties"})
"""Members of Google's requests that hold a user's names."""

BYTES: Final = frozenset({"thoughtSignature", "data"})
"""Members of Google's requests that are bytes: base64 of either alphabet (google-genai writes - and _)."""

USUAL: Final = str.maketrans("-_", "+/")
NO_SIGNATURE: Final = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Words that are sent in place of a signature (https://ai.google.dev/gemini-api/docs/thought-signatures)."""


def canonical(api: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return `body` in the one form that cases of `api` are written in."""
    form = FORMS.get(api)
    return form(dict(body)) if form is not None else dict(body)


def _without_nulls(body: Mapping[str, Any]) -> dict[str, Any]:
    """Drop members of the body that are null, which mean their default; deeper ones may mean something."""
    return {name: value for name, value in body.items() if value is not None}


def _parts(content: Json, type_: str) -> Json:
    """Return a text as the list of one part that it stands for."""
    return [{"type": type_, "text": content}] if isinstance(content, str) else content


def _messages(value: Json, each: Callable[[dict[str, Any]], dict[str, Any]]) -> Json:
    if not isinstance(value, list):
        return value
    return [each(dict(message)) if isinstance(message, Mapping) else message for message in value]


def _anthropic(body: dict[str, Any]) -> dict[str, Any]:
    """`system`, `content` and a result's `content` are a string or blocks; turns of one role are joined.

    Results of one answer in several messages are not brought together: that they stand in one is documented.
    https://docs.claude.com/en/api/messages, https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
    """
    made = _without_nulls(body)
    if "system" in made:
        made["system"] = _parts(made["system"], "text")
    made["messages"] = _turns(_messages(made.get("messages"), _anthropic_message))
    return made


def _turns(messages: Json) -> Json:
    """Return messages with neighbours of one role as one, unless the later has results."""
    if not isinstance(messages, list):
        return messages
    made: list[Json] = []
    for message in messages:
        if made and _continues(made[-1], message):
            made[-1] = {**made[-1], "content": [*made[-1]["content"], *message["content"]]}
        else:
            made.append(message)
    return made


def _continues(before: Json, message: Json) -> bool:
    if not (isinstance(before, Mapping) and isinstance(message, Mapping)):
        return False
    former, parts = before.get("content"), message.get("content")
    if not (isinstance(former, list) and isinstance(parts, list)) or before.get("role") != message.get(
        "role"
    ):
        return False
    return not any(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


def _anthropic_message(message: dict[str, Any]) -> dict[str, Any]:
    content = _parts(message.get("content"), "text")
    if isinstance(content, list):
        content = [
            {**block, "content": _parts(block.get("content"), "text")}
            if isinstance(block, Mapping) and block.get("type") == "tool_result" and "content" in block
            else block
            for block in content
        ]
    return {**message, "content": content}


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    """`content` is a string or parts, `refusal` one of them; `developer` is `system` for newer models.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    made = _without_nulls(body)
    made["messages"] = _messages(made.get("messages"), _chat_message)
    return made


def _chat_message(message: dict[str, Any]) -> dict[str, Any]:
    role = "system" if message.get("role") == "developer" else message.get("role")
    made = {**message, "role": role}
    if "content" in made:
        made["content"] = _parts(made["content"], "text")
    if role == "assistant" and isinstance(made.get("refusal"), str):
        said = made["content"] if isinstance(made.get("content"), list) else []
        made["content"] = [*said, {"type": "refusal", "refusal": made.pop("refusal")}]
    return made


def _responses(body: dict[str, Any]) -> dict[str, Any]:
    """`input` is a text or items, `content`, `output` a text or parts; `instructions` are a system message.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    made = _without_nulls(body)
    given = made.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    items = _messages(items, _responses_item)
    if isinstance(items, list) and isinstance(made.get("instructions"), str):
        system = {"type": "message", "role": "system", "content": made.pop("instructions")}
        items = [_responses_item(system), *items]
    return {**made, "input": items}


def _responses_item(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call_output":
        return {**item, "output": _parts(item.get("output"), "input_text")}
    if item.get("type", "message") != "message" or "role" not in item:
        return item
    role = "system" if item["role"] == "developer" else item["role"]
    part = "output_text" if role == "assistant" else "input_text"
    return {**item, "type": "message", "role": role, "content": _parts(item.get("content"), part)}


def _google(body: dict[str, Any]) -> dict[str, Any]:
    """Keys are read in camel and in snake case, bytes in either base64; a schema's types in either case.

    https://protobuf.dev/programming-guides/json/ and https://ai.google.dev/api/caching#Schema
    """
    made: dict[str, Any] = _camel(body)
    system = made.get("systemInstruction")
    if isinstance(system, Mapping):
        made["systemInstruction"] = {key: value for key, value in system.items() if key != "role"}
    for each in _declared(made.get("tools")):
        schema = each.pop("parametersJsonSchema", None) or each.get("parameters")
        if schema is not None:
            each["parameters"] = _lower_types(schema)
    return made


def _declared(tools: Json) -> Iterator[dict[str, Any]]:
    """Yield the declarations of all tools, whatever else stands there."""
    for tool in tools if isinstance(tools, list) else ():
        declared = tool.get("functionDeclarations") if isinstance(tool, Mapping) else None
        yield from (
            each for each in (declared if isinstance(declared, list) else ()) if isinstance(each, dict)
        )


def _camel(value: Json) -> Json:
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    named = {SNAKE.sub(lambda found: found[1].upper(), key): each for key, each in value.items()}
    return {key: _member(key, each) for key, each in named.items()}


def _member(key: str, value: Json) -> Json:
    if key in OPAQUE or key.startswith("parameters"):
        return value
    if key in BYTES and isinstance(value, str):
        return value if value in NO_SIGNATURE else value.translate(USUAL)
    return _camel(value)


def _lower_types(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_lower_types(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: each.lower() if key == "type" and isinstance(each, str) else _lower_types(each)
        for key, each in schema.items()
    }


def _cohere(body: dict[str, Any]) -> dict[str, Any]:
    """`content` is a string or parts (https://docs.cohere.com/reference/chat)."""
    made = _without_nulls(body)
    made["messages"] = _messages(made.get("messages"), _cohere_message)
    return made


def _cohere_message(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": _parts(message["content"], "text")} if "content" in message else message


FORMS: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "google-generate": _google,
    "ollama-chat": _without_nulls,
    "cohere-chat": _cohere,
    "bedrock-converse": _without_nulls,
}
"""What brings a body of each api to one form."""
