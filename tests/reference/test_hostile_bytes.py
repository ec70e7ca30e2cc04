"""No bytes raise, and every answer ends with exactly one terminal event."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streamconform_dev.fuzz.exchange import assert_event_rules, decode
from streamconform_reference import DECODERS
from streamconform_reference.apis.anthropic_messages.content import BLOCK_STARTS, DELTAS
from streamconform_reference.apis.anthropic_messages.decode import HANDLERS
from streamconform_reference.json_text.codec import dumps

from .streams import STREAMS, sse

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.just(2**70), st.floats(), st.just("x"))
KEYS = st.sampled_from(
    [
        "type",
        "index",
        "delta",
        "text",
        "content_block",
        "message",
        "usage",
        "error",
        "id",
        "name",
        "input",
        "partial_json",
        "thinking",
        "signature",
        "content",
        "stop_reason",
        "iterations",
    ]
)
TYPES = st.sampled_from([*HANDLERS, *BLOCK_STARTS, *DELTAS, "compaction"])
VALUES = st.recursive(
    SCALARS | TYPES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
PAYLOADS = st.builds(
    lambda kind, rest: {**rest, "type": kind}, TYPES, st.dictionaries(KEYS, VALUES, max_size=4)
)


@settings(max_examples=50)
@given(payloads=st.lists(PAYLOADS, max_size=8))
def test_any_payloads(payloads: list[dict[str, Any]]) -> None:
    body = b"".join(b"data: %s\n\n" % json.dumps(payload).encode() for payload in payloads)
    answer = decode(body)
    assert_event_rules(answer)
    dumps(answer.outcome)


def test_nesting_beyond_the_bound_is_broken_not_fatal() -> None:
    for depth in (200, 2_000, 200_000):
        body = sse({"type": "ping"}) + b'data: {"type":"ping","x":' + b"[" * depth + b"]" * depth
        assert decode(body + b"}\n\n").outcome["error"]["type"] == "protocol"


def test_no_event_follows_the_end() -> None:
    decoder = DECODERS["anthropic-messages"]()
    assert decoder.receive_eof() != []
    assert decoder.receive_data(STREAMS["text"]) == []
    assert decoder.receive_eof() == []
    assert decoder.outcome.status == "error"
