"""What the grammar of an API calls broken in a stream, and the members that a payload keeps."""

from __future__ import annotations

import json

import pytest
from streamconform.apis import APIS
from streamconform.tools.minimise.legality import broken_rules, kept_members
from streamconform.wire import sse

from .searching import cases

A = "anthropic-messages"
USAGE = {"input_tokens": 1, "output_tokens": 1}
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    },
}
OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
CLOSE = {"type": "content_block_stop", "index": 0}
REASON = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 1},
}
STOP = {"type": "message_stop"}


@pytest.mark.parametrize("api", APIS)
def test_most_bundled_streams_break_no_rule_but_that_of_the_terminal_event(api):
    """The others are about a broken rule."""
    streams = {
        (case.cassette.body, case.cassette.name): case.cassette
        for case in cases(api).values()
        if APIS[api].detect_framing(case.cassette.status, case.cassette.body) != "document"
    }
    broken = [broken_rules(api, each.body, each.request.body) for each in streams.values()]
    assert sum(rules <= {"one-terminal", "done-marker"} for rules in broken) > 0.5 * len(broken)


@pytest.mark.parametrize(
    ("frames", "broken"),
    [
        ((START, OPEN, DELTA, CLOSE, REASON, STOP), set()),
        ((START, REASON, STOP), set()),
        ((OPEN, DELTA, CLOSE, REASON, STOP), {"start-first"}),
        ((START, OPEN, DELTA, REASON, STOP), {"blocks-stopped"}),
        ((START, OPEN, DELTA), {"one-terminal"}),
        ((START, OPEN, DELTA, CLOSE, STOP), {"message-delta-before-stop", "stop-reason-present"}),
    ],
)
def test_a_stream_breaks_the_rules_of_its_grammar(frames, broken):
    body = b"".join(sse.encode_event(json.dumps(each).encode(), each["type"]) for each in frames)
    assert broken_rules(A, body, {}) == broken


def test_required_fields_are_kept_and_optional_ones_may_go():
    kept = kept_members("openai-chat")
    assert {"id", "object", "choices", "finish_reason", "param"} <= kept
    assert kept.isdisjoint({"logprobs", "system_fingerprint", "content"})
