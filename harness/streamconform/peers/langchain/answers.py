"""An answer as LangChain's message, in its standard content blocks (`output_version="v1"`).

It is what LangChain had made of it when it came: signatures under `extras`, what it has no word for as
`non_standard`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage

Block = Mapping[str, Any]
NOTHING: Final[Block] = {}

PROVIDERS: Final[Mapping[str, str]] = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "google-generate": "google_genai",
    "ollama-chat": "ollama",
    "cohere-chat": "cohere",
    "bedrock-converse": "bedrock_converse",
}
"""What it calls the provider of an answer."""
SIGNED: Final = "__gemini_function_call_thought_signatures__"
PLAIN: Final = ("openai-chat", "ollama-chat", "cohere-chat")
"""The apis whose answers are a text, with the calls beside it."""


def answer_of(message: Block, api: str, model: str) -> AIMessage:
    """Return the message of an answer that came by `api`, of `model` where it does not say of another."""
    blocks = list(_blocks(message["content"], api))
    named = {"model_provider": PROVIDERS[api], "model_name": message.get("model", model)}
    calls = [each for each in blocks if each["type"] == "tool_call"]
    signed = {each["id"]: each["extras"]["signature"] for each in calls if "extras" in each}
    plain = api in PLAIN
    return AIMessage(
        "".join(each["text"] for each in blocks if each["type"] == "text") if plain else blocks,
        id=message.get("response_id"),
        tool_calls=calls,
        invalid_tool_calls=[each for each in blocks if each["type"] == "invalid_tool_call"],
        additional_kwargs=_thought(blocks) if plain else {SIGNED: signed} if signed else {},
        response_metadata=named if plain else {"output_version": "v1", **named},
    )


def _thought(blocks: Sequence[Block]) -> dict[str, str]:
    text = "".join(each.get("reasoning", "") for each in blocks if each["type"] == "reasoning")
    return {"reasoning_content": text} if text else {}


def _blocks(blocks: Sequence[Block], api: str) -> Iterator[dict[str, Any]]:
    """Yield the blocks; an empty thought is Gemini's signature of the call behind it or the text before."""
    signature = None
    made: dict[str, Any] = {}
    for block, after in zip(blocks, [*blocks[1:], NOTHING], strict=False):
        if api == "google-generate" and block["type"] == "thinking" and not block.get("text"):
            if made.get("type") == "text" and after.get("type") != "tool_call":
                made["extras"] = {"signature": block["signature"]}
            else:
                signature = block["signature"]
            continue
        made = _block(block, "encrypted_content" if api == "openai-responses" else "signature")
        if signature and made["type"] == "tool_call":
            made["extras"], signature = {"signature": signature}, None
        yield made


def _block(block: Block, signed: str) -> dict[str, Any]:
    match block:
        case {"type": "text" | "refusal", "text": text}:
            return {"type": "text", "text": text}
        case {"type": "thinking", "redacted": True}:
            return _other({"type": "redacted_thinking", "data": block.get("signature")})
        case {"type": "thinking"}:
            told = {"reasoning": block["text"]} if block.get("text") or signed == "signature" else {}
            extras = {"extras": {signed: block["signature"]}} if block.get("signature") else {}
            return {"type": "reasoning", **told, **extras}
        case {"type": "tool_call", "name": name, "id": id_}:
            args, named = block.get("arguments"), {"name": name, "id": id_}
            if block.get("executor") == "provider":
                return {"type": "server_tool_call", "args": args, **named}
            if isinstance(args, dict):
                return {"type": "tool_call", "args": args, **named}
            return {"type": "invalid_tool_call", "args": block.get("arguments_text"), "error": None, **named}
        case _:
            return _other(block["data"])


def _other(value: Any) -> dict[str, Any]:
    return {"type": "non_standard", "value": value}
