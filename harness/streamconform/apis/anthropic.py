"""The events, documents and requests shared by the APIs that use Anthropic's message format. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.apis.api import Json, OptIn, Reducing, require
from streamconform.apis.payloads import Payload, as_object
from streamconform.apis.request_forms import (
    as_parts,
    declares_tool,
    drop_nulls,
    has_member,
    map_messages,
    order_results,
)
from streamconform.apis.variants import (
    Payloads,
    Place,
    Rewritten,
    Variant,
    add_empty_deltas,
    find_text,
    split_pairs,
)

OBJECTS: Final = (
    (),
    ("message",),
    ("message", "usage"),
    ("content_block",),
    ("delta",),
    ("usage",),
    ("error",),
)
"""The objects of an event to which new fields may be added."""

TYPES: Final = re.compile(r"message_(start|delta|stop)|content_block_(start|delta|stop)")
"""Matches the types of events."""
KINDS: Final = (("content_block",),)
CONTENT: Final = ("delta", "content_block")
"""Members of an event that contain content."""
TEXT_KEYS: Final = ("text",)
DELTA_KEYS: Final = ("thinking", "partial_json")
CALL_IDS: Final = (("messages", "*", "content", "*", "tool_use", "id"),)
"""The paths in a request to the ids of the calls that it sends back."""
INSTRUCTIONS: Final = ("system", "tools")
"""The members of a request that the model reads before its messages."""
THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
CACHE_MARKS: Final = frozenset({"cache_control"})
"""Clients move their cache breakpoints forward (https://docs.claude.com/en/docs/build-with-claude/prompt-caching)."""

# https://docs.claude.com/en/api/messages
ANSWER: Final = (
    *require("name", "id", "model", "stop_reason", "content[].type"),
    *require('"message"', "type"),
    *require('"assistant"', "role"),
    *require("list", "content"),
    *require("text or null", "stop_sequence"),
    *require("count", "usage.input_tokens", "usage.output_tokens"),
    *require("object", "usage"),
)

# https://docs.claude.com/en/docs/agents-and-tools/tool-use/memory-tool
# The test for `fallbacks` is needed because a client must not run a call before a fallback block.
OPT_INS: Final = (
    OptIn("the memory tool (`memory_…` in `tools`)", declares_tool("memory")),
    OptIn("a fallback to another model (`fallbacks`)", has_member("fallbacks")),
)

REDUCING: Final = Reducing(
    # fields of citations and of server tools' results
    kept=frozenset(
        {
            "citation",
            "cited_text",
            "document_index",
            "document_title",
            "encrypted_content",
            "encrypted_index",
            "title",
            "tool_use_id",
            "url",
        }
    ),
    block_index=("index",),
)


def is_terminal(payload: Payload) -> bool:
    """Return whether the payload is `message_stop` or an error."""
    return payload.get("type") in ("message_stop", "error")


def is_settled(payload: Payload) -> bool:
    """Return whether the payload is the `message_delta` with the stop reason and the final usage."""
    return payload.get("type") == "message_delta" and bool(as_object(payload.get("delta")).get("stop_reason"))


def count_ended_calls(payloads: Sequence[Payload]) -> int:
    """Return the number of the client's tool calls whose blocks have stopped."""
    calls = {
        payload.get("index")
        for payload in payloads
        if as_object(payload.get("content_block")).get("type") == "tool_use"
    }
    return sum(
        payload.get("type") == "content_block_stop" and payload.get("index") in calls for payload in payloads
    )


def find_piece(payload: Payload) -> Place | None:
    """Return the place of the text in a delta."""
    if payload.get("type") != "content_block_delta":
        return None
    return find_text(payload, [("delta", key) for key in (*TEXT_KEYS, *DELTA_KEYS)])


def find_fragment(payload: Payload) -> Place | None:
    """Return the place of the text in a delta of which Anthropic sends empty ones, too."""
    place = find_piece(payload)
    return None if place == ("delta", "text") else place


HALF_PAIRS: Final = Variant(
    level="may", sources=("deltas-are-increments", "tool-input-fragments"), rewrite=split_pairs(find_piece)
)
EMPTY_DELTAS: Final = Variant(
    level="must",
    sources=("first-fragment-may-be-empty", "tool-input-fragments", "thinking-display-omitted"),
    rewrite=add_empty_deltas(find_fragment),
)


def end_blocks_twice(payload: Payload) -> Sequence[Payload]:
    """Send the end of a block twice."""
    return (payload, payload) if payload.get("type") == "content_block_stop" else (payload,)


def end_blocks_late(payloads: Payloads) -> Rewritten | None:
    """Move the ends of all blocks to the last of them."""
    stops = [n for n, payload in enumerate(payloads) if payload.get("type") == "content_block_stop"]
    starts = [payload for payload in payloads if payload.get("type") == "content_block_start"]
    indexes = [payload.get("index") for payload in starts]
    if indexes != list(range(len(stops))) or any(payloads[n].get("index") not in indexes for n in stops):
        return None
    last = stops[-1] if stops else -1
    return [
        [payloads[stop] for stop in stops] if n == last else [] if n in stops else [payload]
        for n, payload in enumerate(payloads)
    ]


def canonical(body: Json) -> Json:
    """Convert `system`, `content` and a result's `content` to lists of blocks; join turns with the same role.

    Results that are together are in the order of their calls.

    Tool results for one answer are not joined if they are spread over several messages, because the
    documentation requires a single message. The API still accepts `output_format`, the beta's name for
    `output_config.format`. https://docs.claude.com/en/api/messages,
    https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use,
    https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    """
    made = drop_nulls(body)
    config = made.get("output_config", {})
    if "output_format" in made and isinstance(config, dict) and "format" not in config:
        made["output_config"] = {**config, "format": made.pop("output_format")}
    if "system" in made:
        made["system"] = as_parts(made["system"], "text")
    messages = _join_turns(map_messages(made.get("messages"), _canonical_message))
    made["messages"] = order_results(messages, _find_call_id, _find_result_id)
    return made


def _find_call_id(block: Payload) -> Any:
    return block.get("id") if block.get("type") == "tool_use" else None


def _find_result_id(block: Payload) -> Any:
    return block.get("tool_use_id") if block.get("type") == "tool_result" else None


def _join_turns(messages: Any) -> Any:
    """Join consecutive messages with the same role, unless the later one contains tool results."""
    if not isinstance(messages, list):
        return messages
    made: list[Any] = []
    for message in messages:
        if made and _continues(made[-1], message):
            made[-1] = {**made[-1], "content": [*made[-1]["content"], *message["content"]]}
        else:
            made.append(message)
    return made


def _continues(before: Any, message: Any) -> bool:
    if not (isinstance(before, Mapping) and isinstance(message, Mapping)):
        return False
    former, parts = before.get("content"), message.get("content")
    if not (isinstance(former, list) and isinstance(parts, list)):
        return False
    if before.get("role") != message.get("role"):
        return False
    return not any(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


def _canonical_message(message: Json) -> Json:
    content = as_parts(message.get("content"), "text")
    if isinstance(content, list):
        content = [
            {**block, "content": as_parts(block.get("content"), "text")}
            if isinstance(block, Mapping) and block.get("type") == "tool_result" and "content" in block
            else block
            for block in content
        ]
    return {**message, "content": content}


def stream(model: str) -> Iterator[Json]:
    """Yield the events of a canned reply."""
    begun = message(model) | {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun | {"usage": {"input_tokens": 9, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "OK"}}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    }
    yield {"type": "message_stop"}


def message(model: str) -> Json:
    """Return the same reply as a document."""
    return {
        "id": "msg_plain",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "OK"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
