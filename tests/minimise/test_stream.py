"""The pieces of a body join to the same bytes, and a deletion leaves the other pieces unchanged."""

from __future__ import annotations

import pytest

from streamconform.apis import APIS
from streamconform.delivery.deliver import cut
from streamconform.suite.expand import expand
from streamconform.wire.framings import split
from streamconform_capture.minimise.edits import edit_members, find_nodes, split_characters
from streamconform_capture.minimise.stream import split_stream

from .searching import load_cases


@pytest.mark.parametrize("api", APIS)
def test_the_pieces_join_to_the_body_with_its_chunks(api):
    for case in load_cases(api).values():
        for trial in expand((case,), ("as-is", "utf8-split", "comments"), "bytes", 0, "one"):
            stream = split_stream(
                APIS[api].detect_framing(case.cassette.status, trial.body), trial.body, trial.chunks
            )
            assert stream.body == trial.body, trial.id
            assert cut(trial.body, stream.list_chunk_offsets()) == trial.chunks, trial.id


@pytest.mark.parametrize("api", APIS)
def test_a_deleted_frame_leaves_the_others(api):
    for case in load_cases(api).values():
        body = case.cassette.body
        framing = APIS[api].detect_framing(case.cassette.status, body)
        stream = split_stream(framing, body, (body,))
        frame_indices = [i for i, piece in enumerate(stream.pieces) if piece.payload is not None]
        if (
            framing == "document"
            or len(frame_indices) < 3
            or len(stream.payloads) != len(split(framing, body))
        ):
            continue
        for deleted in (frame_indices[0], frame_indices[1]):
            smaller = stream.select(i for i in range(len(stream.pieces)) if i != deleted)
            assert [frame.payload for frame in split(framing, smaller.body)] == [*smaller.payloads], case.id


TEXT = '{"a": 1, "b": {"c":[1, 2 , 3]}, "d":"xé\\n\\ud83d\\ude00\\ud83d"}'.encode()


@pytest.mark.parametrize(
    ("changes", "result"),
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
def test_an_edit_keeps_all_other_bytes(changes, result):
    assert edit_members(TEXT, changes) == result


def test_escapes_count_as_one_character():
    assert split_characters(TEXT, find_nodes(TEXT)[("d",)]) == (
        b"x",
        "é".encode(),
        rb"\n",
        rb"\ud83d\ude00",
        rb"\ud83d",
    )
