"""Framing of server-sent events: the standard's grammar, in any chunks."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_reference.framing import Frame
from streamconform_reference.framing.sse import SseFraming


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    body: bytes
    data: tuple[bytes, ...]


CASES = [
    Case("one-event", b"data: a\n\n", (b"a",)),
    Case("event-name-is-no-data", b"event: x\ndata: a\n\n", (b"a",)),
    Case("lf", b"data: a\n\ndata: b\n\n", (b"a", b"b")),
    Case("crlf", b"data: a\r\n\r\ndata: b\r\n\r\n", (b"a", b"b")),
    Case("cr", b"data: a\r\rdata: b\r\r", (b"a", b"b")),
    Case("mixed-line-ends", b"data: a\r\n\ndata: b\r\r\ndata: c\n\r", (b"a", b"b", b"c")),
    Case("no-space", b"data:a\n\n", (b"a",)),
    Case("one-space-only-is-removed", b"data:  a\n\n", (b" a",)),
    Case("multi-line-data", b"data: a\ndata: b\n\n", (b"a\nb",)),
    Case("empty-line-within-data", b"data: a\ndata:\ndata: b\n\n", (b"a\n\nb",)),
    Case("data-without-colon", b"data: a\ndata\n\n", (b"a\n",)),
    Case("empty-data-is-no-frame", b"data:\n\ndata: \n\ndata\n\ndata: a\n\n", (b"a",)),
    Case("comment", b": hi\n\n:\n\ndata: a\n: in between\ndata: b\n\n", (b"a\nb",)),
    Case("comment-after-id", b"id: 1\ndata: a\n\n: ping\n\n", (b"a",)),
    Case("unknown-fields", b"id: 1\nretry: 5\nfoo: bar\nbaz\n data: x\ndata: a\n\n", (b"a",)),
    Case("bom", b"\xef\xbb\xbfdata: a\n\n", (b"a",)),
    Case("bom-only-at-the-start", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", (b"a",)),
    Case("many-blank-lines", b"\n\n\ndata: a\n\n\n\n", (b"a",)),
    Case(
        "unicode-line-ends-are-text",
        "data: a\u2028b\u2029c\x85d\n\n".encode(),
        ("a\u2028b\u2029c\x85d".encode(),),
    ),
    Case(
        "ascii-separators-are-text",
        b"data: a\x0bb\x0cc\x1cd\x1de\x1ef\n\n",
        (b"a\x0bb\x0cc\x1cd\x1de\x1ef",),
    ),
    Case("nul-is-text", b"data: a\x00b\n\n", (b"a\x00b",)),
    Case("last-event-without-blank-line", b'data: {"a":1}\n', (b'{"a":1}',)),
    Case("last-event-without-line-end", b'data: {"a":1}', (b'{"a":1}',)),
    Case("last-event-done", b"data: [DONE]", (b"[DONE]",)),
    Case("last-event-with-half-a-field-behind", b'data: {"a":1}\neve', (b'{"a":1}',)),
    Case("last-event-cut-in-its-json", b'data: {"a":', ()),
    Case("last-event-that-is-no-json", b"data: hello\n", ()),
    Case("json-error-document", b'{"error": {"message": "no"}}', ()),
    Case("html-page", b"<html>\n\n<body>data: no</body>\n", ()),
    Case("empty-body", b"", ()),
]


def frames(chunks: list[bytes]) -> list[Frame]:
    framing = SseFraming()
    return [frame for chunk in chunks for frame in framing.receive(chunk)] + framing.end()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_frames_are_the_events_with_data(case: Case) -> None:
    assert tuple(frame.data for frame in frames([case.body])) == case.data


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_frames_are_the_same_however_the_bytes_are_cut(case: Case) -> None:
    expected = frames([case.body])
    assert frames(chunkings.bytewise(case.body)) == expected
    for chunks in chunkings.two_way_cuts(case.body):
        assert frames(chunks) == expected


LINES = st.sampled_from(
    [b"data: a", b"data:", b"data", b": c", b"event: e", b"id: 1", b"", b"\xef\xbb\xbf", b"x"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
BODIES = st.one_of(
    st.binary(max_size=60),
    st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=12).map(b"".join),
)


@given(body=BODIES, cuts=st.lists(st.integers(0, 120), max_size=6))
def test_frames_of_any_bytes_are_the_same_however_they_are_cut(body: bytes, cuts: list[int]) -> None:
    expected = frames([body])
    assert frames(chunkings.at(body, cuts)) == expected
    assert frames(chunkings.bytewise(body)) == expected


def test_a_cr_only_stream_is_not_one_event_late() -> None:
    framing = SseFraming()
    assert [frame.data for frame in framing.receive(b"data: a\r\r")] == [b"a"]


def test_a_frame_knows_its_bytes_and_its_name() -> None:
    body = b": hi\n\nevent: x\ndata: a\r\n\r\ndata: b"
    first, *_ = frames([body + b"\n\n"])
    assert body[first.start : first.end] == b"event: x\ndata: a\r\n"
    assert first.event == b"x"


def recognised(chunks: list[bytes]) -> bool:
    framing = SseFraming()
    for chunk in chunks:
        framing.receive(chunk)
    framing.end()
    return framing.recognised


@pytest.mark.parametrize(
    "body",
    [b": ping\n\n", b"event: message_st", b"eve", b"\xef\xbb\xbfda", b"retry: 100\n\n", b"data"],
)
def test_a_body_is_recognised_by_its_first_line(body: bytes) -> None:
    assert recognised([body])
    assert recognised(chunkings.bytewise(body))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>:root {}</html>",
        b'{"type":"error"}',
        b'{\n  "data": 1\n}',
        b"<style>\n:root { }\n</style>",
    ],
)
def test_a_page_or_a_document_is_not_recognised(body: bytes) -> None:
    assert not recognised([body])
    assert not recognised(chunkings.bytewise(body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"data: a\n\ndata: " + b"x" * 60 + b"\n\n", id="long-line"),
        pytest.param(b"data: a\n\ndata: " + b"x" * 60, id="line-without-end"),
        pytest.param(b"data: a\n\n" + b"data: xxxx\n" * 20 + b"\n", id="many-lines"),
        pytest.param(b"data: a\n\n:" + b"x" * 60 + b"\n", id="comment"),
    ],
)
def test_a_frame_beyond_the_bound_is_a_fault_and_no_frame(body: bytes) -> None:
    for chunks in ([body], chunkings.bytewise(body)):
        framing = SseFraming(max_frame_bytes=50)
        got = [frame.data for chunk in chunks for frame in framing.receive(chunk)]
        assert got + framing.end() == [b"a"]
        assert framing.fault == "a frame is longer than 50 bytes"
        assert framing.receive(b"data: b\n\n") == []


def test_many_small_frames_are_within_the_bound() -> None:
    framing = SseFraming(max_frame_bytes=50)
    assert len(framing.receive(b"data: xxxxxxxxxx\n\n" * 100)) == 100
    assert framing.fault is None


def seconds(size: int) -> float:
    body = b"data: " + b"x" * size + b"\n\n"
    best = []
    for _ in range(3):
        began = time.process_time()
        framing = SseFraming()
        for chunk in chunkings.at(body, list(range(0, len(body), 8))):
            framing.receive(chunk)
        best.append(time.process_time() - began)
    return min(best)


def test_time_is_linear_in_one_huge_frame_fed_in_tiny_pieces() -> None:
    """Eight times the bytes take about eight times as long; a rescan would take 64 times."""
    assert seconds(1_600_000) < 20 * max(seconds(200_000), 0.01)
