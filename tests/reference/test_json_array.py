"""Framing of a streamed JSON array: one frame per element, in any chunks."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_reference.framing import Frame
from streamconform_reference.framing.json_array import JsonArrayFraming


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    body: bytes
    data: tuple[bytes, ...]


A, B = b'{"a":1}', b'{"b":[{"c":2}]}'
DEEP = b"[" * 40 + b"]" * 40

CASES = [
    Case("as-google-sends-it", b"[" + A + b"\n,\r\n" + B + b"\n]", (A, B)),
    Case("in-one-line", b"[" + A + b"," + B + b"]", (A, B)),
    Case("indented", b'[\n  {\n    "a": 1\n  },\n  {}\n]\n', (b'{\n    "a": 1\n  }', b"{}")),
    Case("white-space-before", b" \r\n\t[" + A + b"]", (A,)),
    Case("bom", b"\xef\xbb\xbf[" + A + b"]", (A,)),
    Case("brackets-in-strings", rb'[{"a":"},{\"]\\"},{"b":"[{"}]', (rb'{"a":"},{\"]\\"}', b'{"b":"[{"}')),
    Case("brackets-in-keys", b'[{"}":{"]":1}}]', (b'{"}":{"]":1}}',)),
    Case("arrays", b'[[1,[2]],["]"]]', (b"[1,[2]]", b'["]"]')),
    Case("scalars", b'[1, "a,]b" ,true,null]', (b"1", b'"a,]b"', b"true", b"null")),
    Case("deep", b"[" + DEEP + b"," + A + b"]", (DEEP, A)),
    Case("empty-array", b"[ ]", ()),
    Case("commas-too-many-or-missing", b"[," + A + b",," + B + A + b",]", (A, B, A)),
    Case("no-closing-bracket", b"[" + A + b",\n", (A,)),
    Case("last-element-cut", b"[" + A + b',{"b":', (A,)),
    Case("last-scalar-whole", b"[" + A + b",12", (A, b"12")),
    Case("another-array-behind", b"[" + A + b"]\n[" + B + b"]\n", (A, B)),
    Case("something-behind", b"[" + A + b"]\n<html>", (A,)),
    Case("something-between", b"[" + A + b" oops, " + B + b"]", (A, b"oops", B)),
    Case("json-error-document", b'{"error": [1]}', ()),
    Case("html-page", b"<html>[1]</html>", ()),
    Case("empty-body", b"", ()),
]


def frames(chunks: list[bytes]) -> list[Frame]:
    framing = JsonArrayFraming()
    return [frame for chunk in chunks for frame in framing.receive(chunk)] + framing.end()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_frames_are_the_elements(case: Case) -> None:
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


def test_an_element_is_emitted_at_its_closing_bracket() -> None:
    framing = JsonArrayFraming()
    assert framing.receive(b'[{"a":') == []
    assert [frame.data for frame in framing.receive(b"1}")] == [b'{"a":1}']


TOKENS = st.sampled_from(
    [
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b'"',
        b"\\",
        b" ",
        b"\n",
        b"1",
        b'{"a":"}"}',
        b'"]"',
        b"\xef\xbb\xbf",
        b"\xe2",
    ]
)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.lists(TOKENS, max_size=30).map(lambda tokens: b"[" + b"".join(tokens)),
    st.lists(TOKENS, max_size=30).map(b"".join),
)


@given(body=BODIES, cuts=st.lists(st.integers(0, 120), max_size=6))
def test_frames_of_any_bytes_are_the_same_however_they_are_cut(body: bytes, cuts: list[int]) -> None:
    expected = frames([body])
    assert frames(chunkings.at(body, cuts)) == expected
    assert frames(chunkings.bytewise(body)) == expected
    assert recognised(chunkings.bytewise(body)) == recognised([body])
    assert all(body[frame.start : frame.end] == frame.data for frame in expected)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(elements=st.lists(VALUES, max_size=5), indent=st.sampled_from([None, 0, 2]))
def test_frames_of_any_array_are_its_elements(elements: list[Any], indent: int | None) -> None:
    body = json.dumps(elements, indent=indent, ensure_ascii=False).encode()
    for chunks in ([body], chunkings.at_random(body, 1)):
        assert [json.loads(frame.data) for frame in frames(chunks)] == elements


def recognised(chunks: list[bytes]) -> bool:
    framing = JsonArrayFraming()
    for chunk in chunks:
        framing.receive(chunk)
    framing.end()
    return framing.recognised


@pytest.mark.parametrize("body", [b"[", b" [", b'[{"err', b"\xef\xbb\xbf[", b"[]"])
def test_a_body_is_recognised_by_its_first_bracket(body: bytes) -> None:
    assert recognised([body])
    assert recognised(chunkings.bytewise(body))


@pytest.mark.parametrize("body", [b"", b" \n", b"{}", b"data: [1]", b"<html>"])
def test_a_page_or_a_document_is_not_recognised(body: bytes) -> None:
    assert not recognised([body])
    assert not recognised(chunkings.bytewise(body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'[{"a":1},{"b":"' + b"x" * 60 + b'"},{"c":3}]', id="long-element"),
        pytest.param(b'[{"a":1},{"b":"' + b"x" * 60, id="element-without-end"),
        pytest.param(b'[{"a":1},' + b"[" * 60, id="deep-element"),
        pytest.param(b'[{"a":1},' + b"1" * 60 + b"]", id="long-scalar"),
    ],
)
def test_a_frame_beyond_the_bound_is_a_fault_and_no_frame(body: bytes) -> None:
    for chunks in ([body], chunkings.bytewise(body)):
        framing = JsonArrayFraming(max_frame_bytes=50)
        got = [frame.data for chunk in chunks for frame in framing.receive(chunk)]
        assert got + framing.end() == [b'{"a":1}']
        assert framing.fault == "a frame is longer than 50 bytes"
        assert framing.receive(b'{"d":4}') == []


def seconds(body: bytes) -> float:
    best = []
    for _ in range(3):
        began = time.process_time()
        framing = JsonArrayFraming()
        for chunk in chunkings.at(body, list(range(0, len(body), 8))):
            framing.receive(chunk)
        best.append(time.process_time() - began)
    return min(best)


@pytest.mark.parametrize("piece", [b"x", b"\\\\", b'","'], ids=["text", "escapes", "strings"])
def test_time_is_linear_in_one_huge_element_fed_in_tiny_pieces(piece: bytes) -> None:
    """Eight times the bytes take about eight times as long; a rescan would take 64 times."""

    def body(size: int) -> bytes:
        return b'[["' + piece * (size // len(piece)) + b'"]]'

    assert seconds(body(800_000)) < 20 * max(seconds(body(100_000)), 0.01)
