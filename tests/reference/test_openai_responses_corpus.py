"""Recorded Responses streams: the same however they are cut, and the same as their own final answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from streamconform_reference.document import decode_document

from . import chunkings
from .captures import bodies, body_of
from .exchange import Answer, assert_event_rules
from .exchange import decode as decode_any

pytestmark = pytest.mark.corpus

BODIES = bodies("openai-responses")
TERMINAL = ("response.completed", "response.incomplete", "response.failed")

# Where the deltas and the final answer differ, by file: in which fields, and why. The deltas stand.
EDITED = "its source shortened the deltas or the final text by hand, so one is no part of the other"
EXCEPTIONS: Mapping[str, tuple[frozenset[str], str]] = {
    "vercel-ai__openai-azure-gpt5-reasoning-multi-summary-no-encryption.jsonl": (frozenset({"text"}), EDITED),
    "vercel-ai__openai-azure-gpt5-reasoning-multi-summary-with-encryption.jsonl": (
        frozenset({"text"}),
        EDITED,
    ),
    "vercel-ai__openai-openai-shell-container.1.jsonl": (frozenset({"text"}), EDITED),
}


def decode(body: Any) -> Answer:
    return decode_any(body, api="openai-responses")


def payloads(body: bytes) -> list[dict[str, Any]]:
    """Return the payloads up to the first terminal one."""
    found = []
    for line in body.splitlines():
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            found.append(json.loads(line[5:]))
            if found[-1]["type"] in TERMINAL:
                break
    return found


def test_the_corpus_is_there() -> None:
    assert BODIES


PATHS = [pytest.param(path, id=path.stem) for path in BODIES]


@pytest.mark.parametrize("path", PATHS)
def test_a_recorded_stream(path: Path) -> None:
    body = body_of(path)
    answer = decode(body)
    assert_event_rules(answer)
    for chunks in (chunkings.bytewise(body), chunkings.at_random(body, 1)):
        assert decode(chunks).outcome == answer.outcome
    ends = [at for name in TERMINAL if (at := body.find(b'"%s"' % name.encode())) > 0]
    for fifth in range(5 if ends else 0):
        cut = decode(body[: min(ends) * fifth // 5 + 1])
        assert cut.outcome["status"] != "complete"
        assert_event_rules(cut)


def essence(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return what deltas and the final answer have in common, in an order of their own."""
    content = outcome["content"]
    calls = [block for block in content if block["type"] == "tool_call"]
    return {
        "text": "".join(block["text"] for block in content if block["type"] == "text"),
        "refusal": "".join(block["text"] for block in content if block["type"] == "refusal"),
        "thinking": [block["text"] for block in content if block["type"] == "thinking"],
        "calls": sorted(
            json.dumps([call["name"], call["id"], call["arguments"], call["complete"], call["executor"]])
            for call in calls
        ),
        "citations": sorted(
            json.dumps(block["data"], sort_keys=True)
            for block in content
            if block["type"] == "other" and block["kind"] == "citation"
        ),
        "usage": outcome["usage"],
        "stop": outcome["stop"],
        "status": outcome["status"],
    }


@pytest.mark.parametrize("path", PATHS)
def test_the_deltas_alone_say_what_the_final_answer_says(path: Path) -> None:
    frames = payloads(body_of(path))
    last = frames[-1]
    final = last.get("response", {})
    if last["type"] not in TERMINAL or not final.get("output"):
        return
    alone = {**last, "response": {key: value for key, value in final.items() if key != "output"}}
    body = b"".join(b"data: %s\n\n" % json.dumps(frame).encode() for frame in [*frames[:-1], alone])
    streamed = essence(decode(body).outcome)
    whole = essence(decode_document(json.dumps(final).encode(), "openai-responses").to_json())
    differing = {key for key in whole if whole[key] != streamed[key]}
    assert differing == EXCEPTIONS.get(path.name, (frozenset(), ""))[0]
