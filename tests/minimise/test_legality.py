"""A stream breaks the rules of its grammar, and required members are kept."""

from __future__ import annotations

import json

import pytest

from streamconform.apis import APIS
from streamconform.wire import sse
from streamconform_capture.minimise.legality import find_broken_rules, list_required_members

from .searching import load_cases

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
def test_most_bundled_streams_break_at_most_the_rule_of_the_terminal_event(api):
    """The others test a broken rule."""
    streams = {
        (case.cassette.body, case.cassette.name): case.cassette
        for case in load_cases(api).values()
        if APIS[api].detect_framing(case.cassette.status, case.cassette.body) != "document"
    }
    broken = [find_broken_rules(api, cassette.body, cassette.request.body) for cassette in streams.values()]
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
    body = b"".join(sse.encode_event(json.dumps(frame).encode(), frame["type"]) for frame in frames)
    assert find_broken_rules(A, body, {}) == broken


def test_required_members_are_kept_and_optional_ones_are_not():
    required = list_required_members("openai-chat")
    assert {"id", "object", "choices", "finish_reason", "param"} <= required
    assert required.isdisjoint({"logprobs", "system_fingerprint", "content"})
