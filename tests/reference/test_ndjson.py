"""Framing of JSON lines: one frame per line, in any chunks."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_reference.framing import Frame
from streamconform_reference.framing.ndjson import NdjsonFraming


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    body: bytes
    data: tuple[bytes, ...]


CASES = [
    Case("one-line", b'{"a":1}\n', (b'{"a":1}',)),
    Case("lines", b'{"a":1}\n{"b":2}\n', (b'{"a":1}', b'{"b":2}')),
    Case("crlf", b'{"a":1}\r\n{"b":2}\r\n', (b'{"a":1}', b'{"b":2}')),
    Case("cr-is-white-space", b'{"a":\r1}\n', (b'{"a":\r1}',)),
    Case("blank-lines", b'\n \r\n{"a":1}\n\n\t\n{"b":2}\n\n', (b'{"a":1}', b'{"b":2}')),
    Case("white-space-around-a-line", b' {"a":1}\t\n\t{"b":2} \r\n', (b'{"a":1}', b'{"b":2}')),
    Case("bom", b'\xef\xbb\xbf{"a":1}\n', (b'{"a":1}',)),
    Case("bom-and-no-line-end", b'\xef\xbb\xbf{"a":1}', (b'{"a":1}',)),
    Case(
        "unicode-line-ends-are-text",
        '{"a":"\u2028\u2029\x85"}\n'.encode(),
        ('{"a":"\u2028\u2029\x85"}'.encode(),),
    ),
    Case("last-line-without-line-end", b'{"a":1}\n{"b":2}', (b'{"a":1}', b'{"b":2}')),
    Case("last-line-cut-in-its-json", b'{"a":1}\n{"b":', (b'{"a":1}',)),
    Case(
        "a-later-line-that-is-no-json-is-a-frame", b'{"a":1}\nno\n{"b":2}\n', (b'{"a":1}', b"no", b'{"b":2}')
    ),
    Case("indented-document", b'{\n  "error": {}\n}\n', ()),
    Case("array", b'[{"a":1}]\n', ()),
    Case("html-page", b"<html>\n{}\n</html>\n", ()),
    Case("empty-body", b"", ()),
]


def frames(chunks: list[bytes]) -> list[Frame]:
    framing = NdjsonFraming()
    return [frame for chunk in chunks for frame in framing.receive(chunk)] + framing.end()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_frames_are_the_lines(case: Case) -> None:
    assert tuple(frame.data for frame in frames([case.body])) == case.data


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_frames_are_the_same_however_the_bytes_are_cut(case: Case) -> None:
    expected = frames([case.body])
    assert frames(chunkings.bytewise(case.body)) == expected
    for chunks in chunkings.two_way_cuts(case.body):
        assert frames(chunks) == expected


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_a_frame_knows_its_bytes(case: Case) -> None:
    for frame in frames([case.body]):
        assert case.body[frame.start : frame.end] == frame.data


LINES = st.sampled_from(
    [b'{"a":1}', b" {}", b"{}\t", b"", b" ", b"x", b"1", b'{"a":"\xe2\x80\xa8"}', b"\xef\xbb\xbf", b"{"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r", b""])
BODIES = st.one_of(
    st.binary(max_size=60),
    st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=12).map(b"".join),
)


@given(body=BODIES, cuts=st.lists(st.integers(0, 120), max_size=6))
def test_frames_of_any_bytes_are_the_same_however_they_are_cut(body: bytes, cuts: list[int]) -> None:
    expected = frames([body])
    assert frames(chunkings.at(body, cuts)) == expected
    assert frames(chunkings.bytewise(body)) == expected
    assert recognised(chunkings.bytewise(body)) == recognised([body])
    assert all(body[frame.start : frame.end] == frame.data for frame in expected)


def recognised(chunks: list[bytes]) -> bool:
    framing = NdjsonFraming()
    for chunk in chunks:
        framing.receive(chunk)
    framing.end()
    return framing.recognised


@pytest.mark.parametrize("body", [b'{"a":1}\n', b'{"a":1}', b'{"model":"x","mes', b"{", b'\n\n{"a":1}\nno'])
def test_a_body_is_recognised_by_its_first_object(body: bytes) -> None:
    assert recognised([body])
    assert recognised(chunkings.bytewise(body))


@pytest.mark.parametrize(
    "body", [b"", b"\n\n", b"<html>", b"<html>\n", b'{\n  "error": 1\n}\n', b"[1]\n", b'"a"']
)
def test_a_page_or_a_document_is_not_recognised(body: bytes) -> None:
    assert not recognised([body])
    assert not recognised(chunkings.bytewise(body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"a":1}\n{"b":"' + b"x" * 60 + b'"}\n{"c":3}\n', id="long-line"),
        pytest.param(b'{"a":1}\n{"b":"' + b"x" * 60, id="line-without-end"),
        pytest.param(b'{"a":1}\n' + b" " * 60 + b"\n", id="blank-line"),
    ],
)
def test_a_frame_beyond_the_bound_is_a_fault_and_no_frame(body: bytes) -> None:
    for chunks in ([body], chunkings.bytewise(body)):
        framing = NdjsonFraming(max_frame_bytes=50)
        got = [frame.data for chunk in chunks for frame in framing.receive(chunk)]
        assert got + framing.end() == [b'{"a":1}']
        assert framing.fault == "a frame is longer than 50 bytes"
        assert framing.receive(b'{"d":4}\n') == []


def seconds(size: int) -> float:
    body = b'{"a":"' + b"x" * size + b'"}\n'
    best = []
    for _ in range(3):
        began = time.process_time()
        framing = NdjsonFraming()
        for chunk in chunkings.at(body, list(range(0, len(body), 8))):
            framing.receive(chunk)
        best.append(time.process_time() - began)
    return min(best)


def test_time_is_linear_in_one_huge_line_fed_in_tiny_pieces() -> None:
    """Eight times the bytes take about eight times as long; a rescan would take 64 times."""
    assert seconds(1_600_000) < 20 * max(seconds(200_000), 0.01)
