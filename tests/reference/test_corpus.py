"""Recorded streams: the same answer however they are cut, and a cut one is never complete."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from . import chunkings
from .exchange import assert_event_rules, decode

pytestmark = pytest.mark.corpus

FOLDER = Path(os.environ.get("STREAMCONFORM_CORPUS") or ".") / "anthropic-messages"
TERMINAL = b'"message_stop"'


def bodies() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*") if path.suffix in (".sse", ".jsonl"))


def body_of(path: Path) -> bytes:
    """Return the recorded bytes; a `.jsonl` lost its framing at its source and gets it back."""
    raw = path.read_bytes()
    if path.suffix == ".sse":
        return raw
    lines = [line for line in raw.split(b"\n") if line.strip()]
    return b"".join(b"event: %s\ndata: %s\n\n" % (json.loads(line)["type"].encode(), line) for line in lines)


def test_the_corpus_is_there() -> None:
    assert bodies()


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in bodies()])
def test_a_recorded_stream(path: Path) -> None:
    body = body_of(path)
    answer = decode(body)
    assert_event_rules(answer)
    for chunks in (chunkings.bytewise(body), chunkings.at_random(body, 1)):
        assert decode(chunks).outcome == answer.outcome
    if TERMINAL in body:
        end = body.index(TERMINAL)
        for fifth in range(5):
            cut = decode(body[: end * fifth // 5 + 1])
            assert cut.outcome["status"] != "complete"
            assert_event_rules(cut)
