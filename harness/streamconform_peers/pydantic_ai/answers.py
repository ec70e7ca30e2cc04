"""Convert an answer in a conversation to Pydantic AI's response: parts with their provider's name.

The response is the one that Pydantic AI builds when it receives such an answer: Gemini's signatures and
OpenAI's phases are in the `provider_details` of their part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zlib import crc32

from pydantic_ai import messages

AnswerBlock = Mapping[str, Any]
"""A content block of an answer, in the form used in conversations."""
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
"""Pydantic AI's name for the provider of an answer, by API."""
NATIVE_TOOLS: Final[Mapping[str, str]] = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "URL_CONTEXT": "web_fetch",
    "FILE_SEARCH": "file_search",
}
"""Pydantic AI's names for Google's server tools."""


def convert_answer(message: AnswerBlock, api: str, model: str) -> messages.ModelResponse:
    """Return the response for an answer; `api` and `model` are used if the answer does not name its own."""
    provider = PROVIDERS[message.get("api", api)]
    parts = [part for block in message["content"] if (part := _convert_block(block, provider)) is not None]
    return messages.ModelResponse(
        parts,
        model_name=message.get("model", model),
        provider_name=provider,
        provider_response_id=message.get("response_id"),
    )


def _convert_block(block: AnswerBlock, provider: str) -> Any:
    match block["type"]:
        case "text" | "refusal":
            return messages.TextPart(block.get("text", ""), **_build_details(block, provider))
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
            details = {"provider_name": provider, **_build_details(block, provider)}
            name = block["name"] if is_client_call else NATIVE_TOOLS.get(block["name"], block["name"])
            return part_type(name, arguments, block["id"], **details)
        case _ if block.get("kind") == "toolResponse":
            data = block["data"]
            result = (NATIVE_TOOLS[data["toolType"]], data["response"], data["id"])
            return messages.NativeToolReturnPart(*result, provider_name=provider)
        case _ if block.get("kind") == "compaction":
            data = block["data"]
            fields = {"id": data.get("id"), "provider_name": provider, "provider_details": dict(data)}
            return messages.CompactionPart(data.get("content"), **fields)
        case _ if str(block.get("kind")).endswith("_tool_result"):
            name = block["kind"].removesuffix("_tool_result")
            result = (name, block["data"].get("content"), block["data"].get("tool_use_id"))
            return messages.NativeToolReturnPart(*result, provider_name=provider)
        case _:
            return None


def _build_details(block: AnswerBlock, provider: str) -> dict[str, Any]:
    """Return the fields that hold Gemini's signature of a text or a call, or the phase of a text."""
    details: dict[str, Any] = {}
    if signature := block.get("signature"):
        details["thought_signature"] = signature
        if provider == "openai":  # Gemini's Chat Completions
            details = {"extra_content": {"google": details}}
    if phase := block.get("phase"):
        details["phase"] = phase
    return {"provider_name": provider, "provider_details": details} if details else {}
