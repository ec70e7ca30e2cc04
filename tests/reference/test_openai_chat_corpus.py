"""Recorded chat streams: the same answer however they are cut, and a cut one is never complete."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from . import chunkings
from .exchange import assert_event_rules
from .exchange import decode as decode_any

pytestmark = pytest.mark.corpus

FOLDER = Path(os.environ.get("STREAMCONFORM_CORPUS") or ".") / "openai-chat"


def decode(body: Any) -> Any:
    return decode_any(body, api="openai-chat")


def bodies() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*") if path.suffix in (".sse", ".jsonl"))


def body_of(path: Path) -> bytes:
    """Return the recorded bytes; a `.jsonl` lost its framing at its source and gets it back."""
    raw = path.read_bytes()
    if path.suffix == ".sse":
        return raw
    lines = [line for line in raw.split(b"\n") if line.strip()]
    return b"".join(b"data: %s\n\n" % line for line in (*lines, b"[DONE]"))


def end_of_first_reason(body: bytes) -> int:
    """Return the offset of the line that has the first reason of choice 0, else of the end."""
    offset = 0
    for line in body.splitlines(keepends=True):
        if line.startswith(b"data: {"):
            choices = json.loads(line[6:]).get("choices") or []
            if any(choice.get("finish_reason") and not choice.get("index") for choice in choices):
                return offset
        offset += len(line)
    return offset


def test_the_corpus_is_there() -> None:
    assert bodies()


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in bodies()])
def test_a_recorded_stream(path: Path) -> None:
    body = body_of(path)
    answer = decode(body)
    assert_event_rules(answer)
    for chunks in (chunkings.bytewise(body), chunkings.at_random(body, 1)):
        assert decode(chunks).outcome == answer.outcome
    end = end_of_first_reason(body)
    for fifth in range(5):
        cut = decode(body[: end * fifth // 5 + 1])
        assert cut.outcome["status"] != "complete"
        assert not any(block.get("complete") for block in cut.content)
        assert_event_rules(cut)
