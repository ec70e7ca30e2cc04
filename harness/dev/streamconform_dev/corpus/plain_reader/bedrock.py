"""Amazon Bedrock: ConverseStream, and InvokeModelWithResponseStream of three model families.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any, Final

from streamconform_dev.corpus.plain_reader import anthropic
from streamconform_dev.corpus.plain_reader.reading import (
    Block,
    Json,
    NotRead,
    Reading,
    as_dict,
    drop_nulls,
    make_call,
    settle_reason,
)

REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
TITAN: Final = {"FINISH": "stop", "FINISHED": "stop", "LENGTH": "length"}
STRING: Final = 7


def read_converse(body: bytes) -> Reading:
    """Return the facts in the frames of ConverseStream."""
    return _read_events([(kind, json.loads(payload)) for kind, payload in _iter_frames(body)])


def read_invoke(body: bytes) -> Reading:
    """Return the facts in the frames of InvokeModelWithResponseStream, depending on the model family."""
    payloads = [json.loads(payload) for _, payload in _iter_frames(body)]
    events: list[Json] = [json.loads(base64.b64decode(each["bytes"])) for each in payloads]
    if any(each.get("type") == "message_start" for each in events):
        return anthropic.read_events(events)
    if any("messageStart" in each for each in events):
        return _read_events(
            [(name, value) for each in events for name, value in each.items() if isinstance(value, dict)]
        )
    if any("outputText" in each for each in events):
        return _read_titan(events)
    raise NotRead(f"unknown family: {sorted(events[0])}")


def _iter_frames(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the type and payload of each message; checksums are not verified."""
    offset = 0
    while offset < len(body):
        total, size = struct.unpack_from(">II", body, offset)
        headers = dict(_iter_headers(body[offset + 12 : offset + 12 + size]))
        kind = headers.get(":event-type") or headers.get(":exception-type") or ""
        yield kind, body[offset + 12 + size : offset + total - 4]
        offset += total


def _iter_headers(data: bytes) -> Iterator[tuple[str, str]]:
    offset = 0
    while offset < len(data):
        length = data[offset]
        name = data[offset + 1 : offset + 1 + length].decode()
        offset += 1 + length
        if data[offset] != STRING:
            raise NotRead(f"header {name} is no string")
        (size,) = struct.unpack_from(">H", data, offset + 1)
        yield name, data[offset + 3 : offset + 3 + size].decode()
        offset += 3 + size


def _read_events(events: list[tuple[str, Json]]) -> Reading:
    starts: dict[int, Json] = {}
    deltas: dict[int, list[Json]] = {}
    order: list[int] = []
    stopped: set[int] = set()
    raw: str | None = None
    usage: Json = {}
    for kind, event in events:
        index = event.get("contentBlockIndex", -1)
        if index >= 0 and index not in deltas:
            order.append(index)
            deltas[index] = []
        match kind:
            case "contentBlockStart":
                starts[index] = event["start"]
            case "contentBlockDelta":
                deltas[index].append(event["delta"])
            case "contentBlockStop":
                stopped.add(index)
            case "messageStop":
                raw = event["stopReason"]
            case "metadata":
                usage = as_dict(event.get("usage"))
            case name if name.endswith("Exception"):
                return Reading(status="error", reason="error", error_type=name)
            case _:
                pass
    blocks = tuple(
        block for n in order for block in _read_block(starts.get(n, {}), deltas[n], ended=n in stopped)
    )
    if raw is None:
        return Reading(status="incomplete", reason=None, blocks=blocks)
    return Reading(
        status="complete",
        reason=settle_reason(REASONS.get(raw, "other"), blocks),
        raw=raw,
        blocks=blocks,
        usage=_count(usage),
    )


def _read_block(start: Json, deltas: list[Json], *, ended: bool) -> Iterator[Block]:
    if "toolUse" in start:
        text = "".join(each["toolUse"]["input"] for each in deltas)
        call = start["toolUse"]
        yield make_call(call["name"], call["toolUseId"], text, ended=ended)
        return
    reasoning = [each["reasoningContent"] for each in deltas if "reasoningContent" in each]
    if reasoning:
        if any("redactedContent" in each for each in reasoning):
            data = "".join(each.get("redactedContent", "") for each in reasoning)
            yield Block("thinking", "", data, redacted=True)
            return
        signature = "".join(each.get("signature", "") for each in reasoning)
        yield Block("thinking", "".join(each.get("text", "") for each in reasoning), signature or None)
        return
    yield Block("text", "".join(each.get("text", "") for each in deltas))


def _count(usage: Json) -> dict[str, Any] | None:
    """Return the buckets; they are disjoint on the wire. Nova's invoke names differ by a suffix."""

    def get(name: str) -> int | None:
        return usage.get(name, usage.get(f"{name.removesuffix('s')}Count"))

    return drop_nulls(
        {
            "input": get("inputTokens"),
            "cache_read": get("cacheReadInputTokens"),
            "cache_write": get("cacheWriteInputTokens"),
            "output": get("outputTokens"),
        }
    )


def _read_titan(events: list[Json]) -> Reading:
    text = "".join(each.get("outputText") or "" for each in events)
    raw = next((each["completionReason"] for each in events if each.get("completionReason")), None)
    if raw is None:
        return Reading(status="incomplete", reason=None, blocks=(Block("text", text),))
    counts = {"input": "inputTextTokenCount", "output": "totalOutputTextTokenCount"}
    reports = {
        name: [each[key] for each in events if each.get(key) is not None] for name, key in counts.items()
    }
    guarded = any(each.get("amazon-bedrock-guardrailAction") == "INTERVENED" for each in events)
    return Reading(
        status="complete",
        reason="content_filter" if guarded else TITAN.get(raw, "other"),
        raw=raw,
        blocks=(Block("text", text),),
        usage=drop_nulls({name: int(seen[-1]) for name, seen in reports.items() if seen}),
    )
