"""What may go from a payload, whatever the API: free text, and members whose object may be empty."""

from __future__ import annotations

from typing import Final

FREE: Final = frozenset(
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
"""Members whose text is anything: it can be shorter and stay legal."""

OF_TOOLS: Final = frozenset({"args", "arguments", "input", "parameters"})
"""Objects with members of the user's own, which may all go."""

MAY_BE_EMPTY: Final = OF_TOOLS | {"tools", "metadata", "annotations", "output", "safetyRatings"}
"""Objects and lists that stay legal when all that they hold goes."""
