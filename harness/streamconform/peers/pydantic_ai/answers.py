"""An answer as Pydantic AI's response: parts with the name of their provider.

It is what Pydantic AI had made of it when it came: Gemini's signatures stand in the details of their part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from zlib import crc32

from pydantic_ai import messages

Block = Mapping[str, Any]
NOTHING: Final[Block] = {}

SYSTEMS: Final[Mapping[str, str]] = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "google-generate": "google",
    "bedrock-converse": "bedrock",
    "ollama-chat": "ollama",
    "cohere-chat": "cohere",
}
"""What it calls the provider of an answer."""


def answer_of(message: Block, api: str, model: str) -> messages.ModelResponse:
    """Return the response of an answer, which came by `api` of `model` where it does not say otherwise."""
    system = SYSTEMS[message.get("api", api)]
    parts = [*_parts(message["content"], system)]
    return messages.ModelResponse(
        parts,
        model_name=message.get("model", model),
        provider_name=system,
        provider_response_id=message.get("response_id"),
    )


def _parts(blocks: Sequence[Block], system: str) -> Iterator[Any]:
    """Yield the parts; an empty thought is Gemini's signature of the call behind it or the text before."""
    before: Any = None
    signature = None
    for block, after in zip(blocks, [*blocks[1:], NOTHING], strict=False):
        alone = system == "google" and block["type"] == "thinking" and not block.get("text")
        if alone and isinstance(before, messages.TextPart) and after.get("type") != "tool_call":
            before.provider_name, before.provider_details = system, {"thought_signature": block["signature"]}
        elif alone:
            signature = block["signature"]
        elif (part := _part(block, system)) is not None:
            if signature and isinstance(part, messages.ToolCallPart):
                part.provider_name, part.provider_details = system, {"thought_signature": signature}
                signature = None
            before = part
            yield part


def _part(block: Block, system: str) -> Any:
    match block["type"]:
        case "text" | "refusal":
            return messages.TextPart(block["text"])
        case "thinking":
            named = {"id": "redacted_thinking"} if block.get("redacted") else {}
            if system == "openai" and block.get("signature"):
                named = {
                    "id": f"rs_{crc32(block['signature'].encode()):08x}"
                }  # which a conversation does not tell
            signed = {"signature": block.get("signature"), "provider_name": system}
            return messages.ThinkingPart(block.get("text", ""), **signed, **named)
        case "tool_call":
            arguments = block.get("arguments_text") or block.get("arguments")
            own = block.get("executor", "client") == "client"
            kind = messages.ToolCallPart if own else messages.NativeToolCallPart
            return kind(block["name"], arguments, block["id"], provider_name=system)
        case _ if str(block.get("kind")).endswith("_tool_result"):
            name = block["kind"].removesuffix("_tool_result")
            told = (name, block["data"].get("content"), block["data"].get("tool_use_id"))
            return messages.NativeToolReturnPart(*told, provider_name=system)
        case _:
            return None
