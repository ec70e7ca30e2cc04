"""What is legal about a stream's order, and what follows from what was left out."""

from __future__ import annotations

import json

import pytest
from streamconform.tools.minimise.fixup import followed
from streamconform.tools.minimise.legal import illegal
from streamconform.tools.minimise.stream import taken_apart
from streamconform.wire import sse
from streamconform.wire.apis import APIS, framing, split

from .searching import cases

A, R = "anthropic-messages", "openai-responses"
START = {"type": "message_start", "message": {}}
OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
CLOSE = {"type": "content_block_stop", "index": 0}
REASON = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
STOP = {"type": "message_stop"}


@pytest.mark.parametrize("api", APIS)
def test_most_bundled_streams_are_legal(api):
    """Those that are not are about just that, or are cut."""
    bodies = {
        case.cassette.body: case.cassette.status for case in cases(api).values() if case.cassette.status < 400
    }
    found = [
        illegal(api, [each.payload for each in split(framing(api, status, body), body)])
        for body, status in bodies.items()
    ]
    assert sum(wrong <= {"no terminal frame"} for wrong in found) > 0.8 * len(found)


@pytest.mark.parametrize(
    ("frames", "wrong"),
    [
        ((START, OPEN, DELTA, CLOSE, REASON, STOP), set()),
        ((START, REASON, STOP), set()),
        ((OPEN, DELTA, CLOSE, REASON, STOP), {"no beginning"}),
        ((START, OPEN, DELTA, REASON, STOP), {"a block that does not end"}),
        ((START, DELTA, REASON, STOP), {"inside of a block that is not open"}),
        ((START, OPEN, CLOSE, DELTA, REASON, STOP), {"inside of a block that is not open"}),
        (
            (START, {**OPEN, "index": 1}, {**CLOSE, "index": 1}, REASON, STOP),
            {"blocks that are not counted from 0"},
        ),
        ((START, OPEN, CLOSE, STOP), {"an end without its reason"}),
        ((START, OPEN, DELTA), {"no terminal frame"}),
        ((START, REASON, STOP, REASON), {"a frame behind the last one", "content behind the terminal frame"}),
    ],
)
def test_the_order_of_frames_is_judged(frames, wrong):
    assert illegal(A, [json.dumps(each).encode() for each in frames]) == wrong


def stream(*frames):
    body = b"".join(sse.event(json.dumps(each).encode(), each["type"]) for each in frames)
    return taken_apart("sse", body, (body,))


def said(made):
    return [json.loads(each) for each in made.payloads]


def test_blocks_are_counted_from_0_again():
    before = stream(START, OPEN, CLOSE, {**OPEN, "index": 1}, {**CLOSE, "index": 1}, REASON, STOP)
    after = followed(A, before, before.only((0, 3, 4, 5, 6)))
    assert [each.get("index") for each in said(after)] == [None, 0, 0, None, None]


def test_blocks_that_were_counted_otherwise_stay_as_they_are():
    before = stream(START, {**OPEN, "index": 3}, {**CLOSE, "index": 3}, {**OPEN, "index": 7}, REASON)
    assert followed(A, before, before.only((0, 3, 4))) == before.only((0, 3, 4))


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
    _, done, part, of_item, last = said(followed(R, before, before.only((1, 2, 3, 4, 5))))
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
    *added, completed = said(followed(R, before, before.only((0, 2, 3))))
    assert [each["output_index"] for each in added] == [0, 1]
    assert [each["sequence_number"] for each in (*added, completed)] == [4, 5, 6]
    assert [each["id"] for each in completed["response"]["output"]] == ["msg_0", "msg_2"]
