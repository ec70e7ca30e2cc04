"""Ollama: https://docs.ollama.com/api/chat."""

from __future__ import annotations

import json
from typing import Final

from streamconform_dev.corpus.plain_reader.reading import Block, Reading, drop_nulls, settle_reason

REASONS: Final = {"stop": "stop", "length": "length"}


def read(body: bytes) -> Reading:
    """Return the facts in the lines."""
    records = [json.loads(line) for line in body.splitlines() if line.strip()]
    if any("error" in each for each in records):
        return Reading(status="error", reason="error")
    messages = [each["message"] for each in records]
    blocks = []
    for kind, key in (("thinking", "thinking"), ("text", "content")):
        text = "".join(each.get(key) or "" for each in messages)
        if text:
            blocks.append(Block(kind, text))
    calls = [call for each in messages for call in each.get("tool_calls") or []]
    blocks += [
        Block(
            "tool_call",
            id=each.get("id"),
            name=each["function"]["name"],
            arguments=each["function"].get("arguments") or {},
        )
        for each in calls
    ]
    last = records[-1]
    if not last.get("done"):
        return Reading(status="incomplete", reason=None, blocks=tuple(blocks))
    raw = last.get("done_reason")
    return Reading(
        status="complete",
        reason=settle_reason(REASONS.get(raw, "other"), blocks),
        raw=raw,
        blocks=tuple(blocks),
        usage=drop_nulls({"input": last.get("prompt_eval_count"), "output": last.get("eval_count")}),
        model=last.get("model"),
    )
