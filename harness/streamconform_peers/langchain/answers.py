"""Convert an answer in a conversation to LangChain's message, with v1 content blocks.

The message is the one that LangChain builds when it receives such an answer: signatures are under `extras`,
and blocks for which LangChain has no type are `non_standard`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage

from streamconform.normal.langchain import CALL_SIGNATURES

AnswerBlock = Mapping[str, Any]
"""A content block of an answer, in the form used in conversations."""
NO_BLOCK: Final[AnswerBlock] = {}

PROVIDERS: Final[Mapping[str, str]] = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "google-generate": "google_genai",
    "ollama-chat": "ollama",
    "cohere-chat": "cohere",
    "bedrock-converse": "bedrock_converse",
}
"""LangChain's name for the provider of an answer, by API."""
TEXT_APIS: Final = ("openai-chat", "ollama-chat", "cohere-chat")
"""The APIs whose answers LangChain keeps as one text and a separate list of tool calls."""


def convert_answer(message: AnswerBlock, api: str, model: str) -> AIMessage:
    """Return the message for an answer from `api`; `model` is used if the answer does not name its own."""
    key = "encrypted_content" if api == "openai-responses" else "signature"
    blocks = [_convert_block(block, key) for block in message["content"]]
    provider = {"model_provider": PROVIDERS[api], "model_name": message.get("model", model)}
    calls = [block for block in blocks if block["type"] == "tool_call"]
    signatures = {call["id"]: call["extras"]["signature"] for call in calls if "extras" in call}
    is_text = api in TEXT_APIS
    return AIMessage(
        "".join(block["text"] for block in blocks if block["type"] == "text") if is_text else blocks,
        id=message.get("response_id"),
        tool_calls=calls,
        invalid_tool_calls=[block for block in blocks if block["type"] == "invalid_tool_call"],
        additional_kwargs=_get_reasoning(blocks)
        if is_text
        else {CALL_SIGNATURES: signatures}
        if signatures
        else {},
        response_metadata=provider if is_text else {"output_version": "v1", **provider},
    )


def _get_reasoning(blocks: Sequence[AnswerBlock]) -> dict[str, str]:
    text = "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")
    return {"reasoning_content": text} if text else {}


def _convert_block(block: AnswerBlock, signature_key: str) -> dict[str, Any]:
    match block:
        case {"type": "text" | "refusal", "text": text}:
            phase = {"phase": block["phase"]} if block.get("phase") else {}
            return {"type": "text", "text": text, **phase, **_build_extras(block, signature_key)}
        case {"type": "thinking", "redacted": True}:
            return _build_non_standard({"type": "redacted_thinking", "data": block.get("signature")})
        case {"type": "thinking"}:
            has_text = block.get("text") or signature_key == "signature"
            reasoning = {"reasoning": block["text"]} if has_text else {}
            return {"type": "reasoning", **reasoning, **_build_extras(block, signature_key)}
        case {"type": "tool_call", "name": name, "id": id_}:
            args, call = block.get("arguments"), {"name": name, "id": id_}
            if block.get("executor") == "provider":
                return {
                    "type": "server_tool_call",
                    "args": args,
                    **call,
                    **_build_extras(block, signature_key),
                }
            if isinstance(args, dict):
                return {"type": "tool_call", "args": args, **call, **_build_extras(block, signature_key)}
            return {"type": "invalid_tool_call", "args": block.get("arguments_text"), "error": None, **call}
        case {"kind": "toolResponse", "data": {"id": id_, "toolType": name, "response": output}}:
            result = {"tool_call_id": id_, "status": "success", "output": output}
            return {"type": "server_tool_result", **result, "extras": {"block_type": name.lower()}}
        case _:
            return _build_non_standard(block["data"])


def _build_non_standard(value: Any) -> dict[str, Any]:
    return {"type": "non_standard", "value": value}


def _build_extras(block: AnswerBlock, key: str) -> dict[str, Any]:
    """Return the field with a block's signature, or no field if the block has none."""
    return {"extras": {key: block["signature"]}} if block.get("signature") else {}
