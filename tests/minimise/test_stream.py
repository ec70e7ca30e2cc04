"""Bodies in pieces: joined they are what they were; what is left out leaves the others as they are."""

from __future__ import annotations

import pytest
from streamconform.apis import APIS
from streamconform.delivery.deliver import cut
from streamconform.suite.expand import expand
from streamconform.tools.minimise.edits import edit_members, nodes, units
from streamconform.tools.minimise.stream import split_stream
from streamconform.wire.framings import split

from .searching import cases


@pytest.mark.parametrize("api", APIS)
def test_the_pieces_of_a_body_are_the_body_with_its_cuts(api):
    for case in cases(api).values():
        for trial in expand((case,), ("recorded", "utf8-split", "comments"), "bytes", 0, "one"):
            stream = split_stream(
                APIS[api].detect_framing(case.cassette.status, trial.body), trial.body, trial.chunks
            )
            assert stream.body == trial.body, trial.id
            assert cut(trial.body, stream.offsets()) == trial.chunks, trial.id


@pytest.mark.parametrize("api", APIS)
def test_any_frame_left_out_leaves_the_others(api):
    for case in cases(api).values():
        body = case.cassette.body
        framed = APIS[api].detect_framing(case.cassette.status, body)
        stream = split_stream(framed, body, (body,))
        framed_at = [i for i, piece in enumerate(stream.pieces) if piece.payload is not None]
        if framed == "document" or len(framed_at) < 3 or len(stream.payloads) != len(split(framed, body)):
            continue
        for gone in (framed_at[0], framed_at[1]):
            smaller = stream.only(i for i in range(len(stream.pieces)) if i != gone)
            assert [each.payload for each in split(framed, smaller.body)] == [*smaller.payloads], case.id


TEXT = '{"a": 1, "b": {"c":[1, 2 , 3]}, "d":"xé\\n\\ud83d\\ude00\\ud83d"}'.encode()


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({}, TEXT),
        ({("a",): None}, TEXT.replace(b'"a": 1,', b"")),
        ({("d",): None}, TEXT[: TEXT.index(b', "d"')] + b"}"),
        ({("b", "c", 0): None}, TEXT.replace(b"[1, 2 ,", b"[ 2 ,")),
        ({("b", "c", 2): None, ("a",): b"null"}, TEXT.replace(b" , 3", b"").replace(b"1,", b"null,", 1)),
        ({("a",): None, ("b",): None, ("d",): None}, b"{}"),
        ({("b",): None, ("b", "c"): b"[]"}, TEXT.replace(b', "b": {"c":[1, 2 , 3]}', b"")),
    ],
)
def test_what_is_not_changed_keeps_its_bytes(changes, left):
    assert edit_members(TEXT, changes) == left


def test_a_character_is_what_stands_for_it():
    assert units(TEXT, nodes(TEXT)[("d",)]) == (b"x", "é".encode(), rb"\n", rb"\ud83d\ude00", rb"\ud83d")
