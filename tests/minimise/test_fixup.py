"""Renumbering, and text that is repeated as a whole, after frames were left out."""

from __future__ import annotations

import json

from streamconform.tools.minimise.fixup import fix_up
from streamconform.tools.minimise.stream import split_stream
from streamconform.wire import sse

A, R = "anthropic-messages", "openai-responses"
START = {"type": "message_start", "message": {}}
OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CLOSE = {"type": "content_block_stop", "index": 0}
REASON = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
STOP = {"type": "message_stop"}


def stream(*frames):
    body = b"".join(sse.encode_event(json.dumps(each).encode(), each["type"]) for each in frames)
    return split_stream("sse", body, (body,))


def said(made):
    return [json.loads(each) for each in made.payloads]


def test_blocks_are_counted_from_0_again():
    before = stream(START, OPEN, CLOSE, {**OPEN, "index": 1}, {**CLOSE, "index": 1}, REASON, STOP)
    after = fix_up(A, before, before.only((0, 3, 4, 5, 6)))
    assert [each.get("index") for each in said(after)] == [None, 0, 0, None, None]


def test_blocks_that_were_counted_otherwise_stay_as_they_are():
    before = stream(START, {**OPEN, "index": 3}, {**CLOSE, "index": 3}, {**OPEN, "index": 7}, REASON)
    assert fix_up(A, before, before.only((0, 3, 4))) == before.only((0, 3, 4))


def test_whole_texts_are_the_sum_of_the_deltas_that_are_left():
    place = {"output_index": 0, "content_index": 0}
    text = {"type": "output_text", "text": "Bonjour"}
    item = {"id": "msg_1", "type": "message", "content": [text]}
    before = stream(
        *({"type": "response.output_text.delta", **place, "delta": each} for each in ("Bon", "jour")),
        {"type": "response.output_text.done", **place, "text": "Bonjour"},
        {"type": "response.content_part.done", **place, "part": text},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"output": [item]}},
    )
    _, done, part, of_item, last = said(fix_up(R, before, before.only((1, 2, 3, 4, 5))))
    texts = (
        done["text"],
        part["part"]["text"],
        of_item["item"]["content"][0]["text"],
        last["response"]["output"][0]["content"][0]["text"],
    )
    assert texts == ("jour",) * 4


def test_the_final_output_has_the_items_that_are_left_and_sequence_numbers_are_counted():
    items = [{"id": f"msg_{n}"} for n in range(3)]
    frames = [
        {"type": "response.output_item.added", "output_index": n, "item": items[n], "sequence_number": n + 4}
        for n in range(3)
    ]
    last = {"type": "response.completed", "response": {"output": items}, "sequence_number": 7}
    before = stream(*frames, last)
    *added, completed = said(fix_up(R, before, before.only((0, 2, 3))))
    assert [each["output_index"] for each in added] == [0, 1]
    assert [each["sequence_number"] for each in (*added, completed)] == [4, 5, 6]
    assert [each["id"] for each in completed["response"]["output"]] == ["msg_0", "msg_2"]
