"""What of a payload may go, by api: members that nobody requires, free text, and numbers that count.

Until an api has a grammar this is all that is known of its payloads' schema. A name stands for a member
wherever it is: what is kept too often costs a few bytes, what is left out wrongly is no legal stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


REQUIRED: Final[Mapping[str, frozenset[str]]] = {
    "anthropic-messages": _names(
        "type index message id role content model stop_reason stop_sequence usage input_tokens "
        "output_tokens content_block delta text thinking signature data name input partial_json error "
        "tool_use_id citation cited_text document_index document_title url title encrypted_index "
        "encrypted_content"
    ),
    "openai-chat": _names(
        "id object created model choices index delta finish_reason role tool_calls function name arguments "
        "type prompt_tokens completion_tokens total_tokens error message code param"
    ),
    "openai-responses": _names(
        "type sequence_number output_index content_index summary_index annotation_index item_id item part "
        "response id object created_at status model output instructions metadata tools tool_choice "
        "parallel_tool_calls temperature top_p input_tokens output_tokens total_tokens input_tokens_details "
        "cached_tokens output_tokens_details reasoning_tokens role content text delta arguments input name "
        "call_id summary annotations error code message param incomplete_details reason refusal action "
        "query queries results"
    ),
    "google-generate": _names(
        "candidates content parts role text functionCall toolCall name finishReason promptTokenCount "
        "totalTokenCount error code message status blockReason inlineData mimeType data"
    ),
    "ollama-chat": _names(
        "model created_at message role content done done_reason tool_calls function name arguments error"
    ),
    "cohere-chat": _names(
        "type event_type is_finished index id delta message role content text thinking tool_calls tool_call "
        "tool_plan function name arguments parameters finish_reason response generation_id"
    ),
    "bedrock-converse": _names(
        "contentBlockIndex start delta toolUse toolUseId name input text role stopReason inputTokens "
        "outputTokens totalTokens latencyMs reasoningContent signature redactedContent message"
    ),
}
"""Members that are required where they can be, or without which a payload says something else."""

FREE: Final = _names(
    "text thinking signature data partial_json content reasoning_content reasoning refusal arguments delta "
    "input encrypted_content summary thoughtSignature thought_signature tool_plan cited_text message "
    "instructions encrypted_index title"
)
"""Members whose text is anything: it can be shorter and stay legal."""

OF_TOOLS: Final = frozenset({"args", "arguments", "input", "parameters"})
"""Objects with members of the user's own, which may all go."""

MAY_BE_EMPTY: Final = OF_TOOLS | {"tools", "metadata", "annotations", "output", "safetyRatings"}

INDICES: Final[Mapping[str, tuple[str | int, ...]]] = {
    "anthropic-messages": ("index",),
    "openai-chat": ("choices", 0, "delta", "tool_calls", 0, "index"),
    "openai-responses": ("output_index",),
    "cohere-chat": ("index",),
    "bedrock-converse": ("contentBlockIndex",),
}
"""Where a payload says to which block or call it belongs; providers count them from 0."""
