"""Mutants that change in a later request what an earlier one contained, or lose what must go back."""

from __future__ import annotations

import json
from typing import Any, Final

from streamconform_reference.apis import REQUEST_BUILDERS

from .registry import Body, Conversation, RequestMutants


class ReplayMutants(RequestMutants):
    """Mutants that build the later requests of a conversation."""

    paths = ("replay",)


mutants = ReplayMutants()

_APIS: Final = tuple(REQUEST_BUILDERS)
_LATER: Final = ("**:request.**", "**:requests.**")
"""The checks of the requests after the first."""


def _is_later(conversation: Conversation) -> bool:
    return any(message["role"] == "assistant" for message in conversation["messages"])


@mutants.conversation(*_APIS, kind="beginning-changed", fails=_LATER)
def tool_connected_later(conversation: Conversation) -> Conversation:
    """Puts a tool before the others as soon as there is an answer, as when a server of tools connects."""
    if not _is_later(conversation):
        return conversation
    late = {"name": "a_late_tool", "description": "Late", "parameters": {"type": "object", "properties": {}}}
    return {**conversation, "tools": [late, *conversation.get("tools", ())]}


@mutants.conversation(*_APIS, kind="beginning-changed", fails=_LATER)
def system_prompt_dated(conversation: Conversation) -> Conversation:
    """Writes the number of messages into the system prompt, as others write the time."""
    system = f"{conversation.get('system', '')}\nMessages: {len(conversation['messages'])}".strip()
    return {**conversation, "system": system}


@mutants.conversation(*_APIS, kind="beginning-changed", fails=_LATER)
def question_trimmed(conversation: Conversation) -> Conversation:
    """Shortens the user's first message as soon as there is an answer."""
    first, *others = conversation["messages"]
    if not _is_later(conversation):
        return conversation
    return {**conversation, "messages": [{**first, "content": "…"}, *others]}


@mutants.body(
    "anthropic-messages",
    "bedrock-invoke",
    kind="beginning-changed",
    fails=_LATER,
)
def old_thinking_trimmed(_: Conversation, body: Body) -> None:
    """Sends thinking back only with the last answer."""
    answers = [message for message in body["messages"] if message["role"] == "assistant"]
    for message in answers[:-1]:
        kept = [block for block in message["content"] if block["type"] != "thinking"]
        message["content"] = kept or message["content"]


@mutants.body(*_APIS, kind="beginning-changed", fails=_LATER)
def tools_written_in_another_order(conversation: Conversation, body: Body) -> None:
    """Writes the members of the tools in the reverse order as soon as there is an answer."""
    holder = body.get("toolConfig", body)
    if _is_later(conversation) and "tools" in holder:
        holder["tools"] = _reverse_members(holder["tools"])


@mutants.body("openai-chat", kind="arguments-reencoded", fails=_LATER)
def chat_arguments_written_again(_: Conversation, body: Body) -> None:
    """Parses the arguments of a call and writes them again, with spaces."""
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = _write_again(call["function"]["arguments"])


@mutants.body("openai-responses", kind="arguments-reencoded", fails=_LATER)
def response_arguments_written_again(_: Conversation, body: Body) -> None:
    """Parses the arguments of a call and writes them again, with spaces."""
    for item in body["input"]:
        if item["type"] == "function_call":
            item["arguments"] = _write_again(item["arguments"])


@mutants.conversation("anthropic-messages", "openai-responses", kind="echo-lost", fails=_LATER)
def echo_dropped(conversation: Conversation) -> Conversation:
    """Keeps of an answer only what all providers have."""
    return {**conversation, "messages": [_drop_echo(message) for message in conversation["messages"]]}


@mutants.body("openai-responses", kind="chain-continued", fails=_LATER)
def lost_answer_named(conversation: Conversation, body: Body) -> None:
    """Names the last answer that it got, and sends only what is new, also after the server has lost it."""
    messages = conversation["messages"]
    named = [n for n, message in enumerate(messages) if message.get("response_id")]
    if named:
        body["previous_response_id"] = messages[named[-1]]["response_id"]
        new = len(messages) - named[-1] - 1
        body["input"] = body["input"][-new:]


def _drop_echo(message: Conversation) -> Conversation:
    if message["role"] != "assistant":
        return message
    blocks = [
        {name: value for name, value in block.items() if name != "echo"} for block in message["content"]
    ]
    kept = {name: value for name, value in message.items() if name != "echo"}
    return {**kept, "content": blocks}


def _write_again(text: str) -> str:
    return json.dumps(json.loads(text))


def _reverse_members(value: Any) -> Any:
    if isinstance(value, list):
        return [_reverse_members(item) for item in value]
    if isinstance(value, dict):
        return {name: _reverse_members(member) for name, member in reversed(value.items())}
    return value
