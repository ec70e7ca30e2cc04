"""The parts of a payload that may shrink, for every API: free text, and objects that may be empty."""

from __future__ import annotations

from typing import Final

FREE_TEXT: Final = frozenset(
    [
        "text",
        "thinking",
        "signature",
        "data",
        "partial_json",
        "content",
        "reasoning_content",
        "reasoning",
        "refusal",
        "arguments",
        "delta",
        "input",
        "encrypted_content",
        "summary",
        "thoughtSignature",
        "thought_signature",
        "tool_plan",
        "cited_text",
        "message",
        "instructions",
        "encrypted_index",
        "title",
    ]
)
"""Members with free text, which stays valid when shortened."""

TOOL_DATA: Final = frozenset({"args", "arguments", "input", "parameters"})
"""Objects whose members are defined by the user, so all of them may be removed."""

MAY_BE_EMPTY: Final = TOOL_DATA | {"tools", "metadata", "annotations", "output", "safetyRatings"}
"""Objects and lists that stay valid when empty."""
