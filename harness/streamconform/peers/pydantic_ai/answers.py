"""Convert an answer of a conversation to Pydantic AI's response: parts with the name of their provider.

The response is the one Pydantic AI builds when it receives such an answer: Gemini's signatures are in
`provider_details` of their part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from zlib import crc32

from pydantic_ai import messages

AnswerBlock = Mapping[str, Any]
"""A content block of an answer, as a conversation has it."""
NO_BLOCK: Final[AnswerBlock] = {}

PROVIDERS: Final[Mapping[str, str]] = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "google-generate": "google",
    "bedrock-converse": "bedrock",
    "ollama-chat": "ollama",
    "cohere-chat": "cohere",
}
"""Pydantic AI's name of an answer's provider, by API."""


def convert_answer(message: AnswerBlock, api: str, model: str) -> messages.ModelResponse:
    """Return the response of an answer; `api` and `model` apply if the answer names none."""
    provider = PROVIDERS[message.get("api", api)]
    parts = [*_convert_blocks(message["content"], provider)]
    return messages.ModelResponse(
        parts,
        model_name=message.get("model", model),
        provider_name=provider,
        provider_response_id=message.get("response_id"),
    )


def _convert_blocks(blocks: Sequence[AnswerBlock], provider: str) -> Iterator[Any]:
    """Yield the parts.

    From Gemini, thinking without text is the signature of the call after it or of the text before it.
    """
    previous: Any = None
    signature = None
    for block, after in zip(blocks, [*blocks[1:], NO_BLOCK], strict=False):
        is_signature = provider == "google" and block["type"] == "thinking" and not block.get("text")
        if is_signature and isinstance(previous, messages.TextPart) and after.get("type") != "tool_call":
            previous.provider_name = provider
            previous.provider_details = {"thought_signature": block["signature"]}
        elif is_signature:
            signature = block["signature"]
        elif (part := _convert_block(block, provider)) is not None:
            if signature and isinstance(part, messages.ToolCallPart):
                part.provider_name, part.provider_details = provider, {"thought_signature": signature}
                signature = None
            previous = part
            yield part


def _convert_block(block: AnswerBlock, provider: str) -> Any:
    match block["type"]:
        case "text" | "refusal":
            return messages.TextPart(block["text"])
        case "thinking":
            id_ = {"id": "redacted_thinking"} if block.get("redacted") else {}
            if provider == "openai" and block.get("signature"):
                # A conversation does not contain the reasoning item's id, so derive one from its signature.
                id_ = {"id": f"rs_{crc32(block['signature'].encode()):08x}"}
            fields = {"signature": block.get("signature"), "provider_name": provider}
            return messages.ThinkingPart(block.get("text", ""), **fields, **id_)
        case "tool_call":
            arguments = block.get("arguments_text") or block.get("arguments")
            is_client_call = block.get("executor", "client") == "client"
            part_type = messages.ToolCallPart if is_client_call else messages.NativeToolCallPart
            return part_type(block["name"], arguments, block["id"], provider_name=provider)
        case _ if str(block.get("kind")).endswith("_tool_result"):
            name = block["kind"].removesuffix("_tool_result")
            result = (name, block["data"].get("content"), block["data"].get("tool_use_id"))
            return messages.NativeToolReturnPart(*result, provider_name=provider)
        case _:
            return None
