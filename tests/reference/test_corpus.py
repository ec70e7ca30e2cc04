"""Recorded streams: the same answer however they are cut, and a cut one is never complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import chunkings
from .captures import bodies, body_of
from .exchange import assert_event_rules, decode

pytestmark = pytest.mark.corpus

BODIES = bodies("anthropic-messages")
TERMINAL = b'"message_stop"'


def test_the_corpus_is_there() -> None:
    assert BODIES


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in BODIES])
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
