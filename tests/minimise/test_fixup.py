"""Deleted frames lead to new block numbers and new aggregated texts."""

from __future__ import annotations

import json

from streamconform.wire import sse
from streamconform_capture.minimise.fixup import fix_up
from streamconform_capture.minimise.stream import split_stream

A, R = "anthropic-messages", "openai-responses"
START = {"type": "message_start", "message": {}}
OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CLOSE = {"type": "content_block_stop", "index": 0}
REASON = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
STOP = {"type": "message_stop"}


def make_stream(*frames):
    body = b"".join(sse.encode_event(json.dumps(frame).encode(), frame["type"]) for frame in frames)
    return split_stream("sse", body, (body,))


def read_payloads(stream):
    return [json.loads(payload) for payload in stream.payloads]


def test_consecutive_blocks_are_renumbered():
    before = make_stream(START, OPEN, CLOSE, {**OPEN, "index": 1}, {**CLOSE, "index": 1}, REASON, STOP)
    after = fix_up(A, before, before.select((0, 3, 4, 5, 6)))
    assert [payload.get("index") for payload in read_payloads(after)] == [None, 0, 0, None, None]


def test_other_block_numbers_stay():
    before = make_stream(START, {**OPEN, "index": 3}, {**CLOSE, "index": 3}, {**OPEN, "index": 7}, REASON)
    assert fix_up(A, before, before.select((0, 3, 4))) == before.select((0, 3, 4))


def test_repeated_texts_are_the_sum_of_the_remaining_deltas():
    place = {"output_index": 0, "content_index": 0}
    text = {"type": "output_text", "text": "Bonjour"}
    item = {"id": "msg_1", "type": "message", "content": [text]}
    before = make_stream(
        *({"type": "response.output_text.delta", **place, "delta": delta} for delta in ("Bon", "jour")),
        {"type": "response.output_text.done", **place, "text": "Bonjour"},
        {"type": "response.content_part.done", **place, "part": text},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"output": [item]}},
    )
    _, done, part, of_item, last = read_payloads(fix_up(R, before, before.select((1, 2, 3, 4, 5))))
    texts = (
        done["text"],
        part["part"]["text"],
        of_item["item"]["content"][0]["text"],
        last["response"]["output"][0]["content"][0]["text"],
    )
    assert texts == ("jour",) * 4


def test_the_final_output_and_sequence_numbers_follow_the_remaining_items():
    items = [{"id": f"msg_{n}"} for n in range(3)]
    frames = [
        {"type": "response.output_item.added", "output_index": n, "item": items[n], "sequence_number": n + 4}
        for n in range(3)
    ]
    last = {"type": "response.completed", "response": {"output": items}, "sequence_number": 7}
    before = make_stream(*frames, last)
    *added, completed = read_payloads(fix_up(R, before, before.select((0, 2, 3))))
    assert [payload["output_index"] for payload in added] == [0, 1]
    assert [payload["sequence_number"] for payload in (*added, completed)] == [4, 5, 6]
    assert [item["id"] for item in completed["response"]["output"]] == ["msg_0", "msg_2"]
