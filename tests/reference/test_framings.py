"""Framing of server-sent events, JSON lines and a streamed JSON array: the same frames in any chunks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.json_array import JsonArrayFraming
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.framing.sse import SseFraming

from .. import sse_bodies
from ..for_each import for_each

A, B = b'{"a":1}', b'{"b":[{"c":2}]}'
DEEP = b"[" * 40 + b"]" * 40
LINE_ENDS = '{"a":"\u2028\u2029\x85"}'.encode()

# id, body, data of its frames
LINES = [
    ("one-line", A + b"\n", (A,)),
    ("lines", A + b"\n" + B + b"\n", (A, B)),
    ("crlf", A + b"\r\n" + B + b"\r\n", (A, B)),
    ("cr-is-white-space", b'{"a":\r1}\n', (b'{"a":\r1}',)),
    ("blank-lines", b"\n \r\n" + A + b"\n\n\t\n" + B + b"\n\n", (A, B)),
    ("white-space-around-a-line", b" " + A + b"\t\n\t" + B + b" \r\n", (A, B)),
    ("bom", b"\xef\xbb\xbf" + A + b"\n", (A,)),
    ("bom-and-no-line-end", b"\xef\xbb\xbf" + A, (A,)),
    ("unicode-line-ends-are-text", LINE_ENDS + b"\n", (LINE_ENDS,)),
    ("last-line-without-line-end", A + b"\n" + B, (A, B)),
    ("last-line-cut-in-its-json", A + b'\n{"b":', (A,)),
    ("a-later-line-that-is-no-json-is-a-frame", A + b"\nno\n" + B + b"\n", (A, b"no", B)),
    ("indented-document", b'{\n  "error": {}\n}\n', ()),
    ("array", b"[" + A + b"]\n", ()),
    ("html-page", b"<html>\n{}\n</html>\n", ()),
    ("empty-body", b"", ()),
]
ARRAYS = [
    ("as-google-sends-it", b"[" + A + b"\n,\r\n" + B + b"\n]", (A, B)),
    ("in-one-line", b"[" + A + b"," + B + b"]", (A, B)),
    ("indented", b'[\n  {\n    "a": 1\n  },\n  {}\n]\n', (b'{\n    "a": 1\n  }', b"{}")),
    ("white-space-before", b" \r\n\t[" + A + b"]", (A,)),
    ("bom", b"\xef\xbb\xbf[" + A + b"]", (A,)),
    ("brackets-in-strings", rb'[{"a":"},{\"]\\"},{"b":"[{"}]', (rb'{"a":"},{\"]\\"}', b'{"b":"[{"}')),
    ("brackets-in-keys", b'[{"}":{"]":1}}]', (b'{"}":{"]":1}}',)),
    ("arrays", b'[[1,[2]],["]"]]', (b"[1,[2]]", b'["]"]')),
    ("scalars", b'[1, "a,]b" ,true,null]', (b"1", b'"a,]b"', b"true", b"null")),
    ("deep", b"[" + DEEP + b"," + A + b"]", (DEEP, A)),
    ("empty-array", b"[ ]", ()),
    ("commas-too-many-or-missing", b"[," + A + b",," + B + A + b",]", (A, B, A)),
    ("no-closing-bracket", b"[" + A + b",\n", (A,)),
    ("last-element-cut", b"[" + A + b',{"b":', (A,)),
    ("last-scalar-whole", b"[" + A + b",12", (A, b"12")),
    ("another-array-behind", b"[" + A + b"]\n[" + B + b"]\n", (A, B)),
    ("something-behind", b"[" + A + b"]\n<html>", (A,)),
    ("something-between", b"[" + A + b" oops, " + B + b"]", (A, b"oops", B)),
    ("json-error-document", b'{"error": [1]}', ()),
    ("html-page", b"<html>[1]</html>", ()),
    ("empty-body", b"", ()),
]
TABLE = [
    *(
        pytest.param(SseFraming, body, tuple(data for _, data in events), id=f"sse-{row.id}")
        for row in sse_bodies.BODIES
        for body, events in (row.values,)
    ),
    *(pytest.param(NdjsonFraming, body, data, id=f"ndjson-{name}") for name, body, data in LINES),
    *(pytest.param(JsonArrayFraming, body, data, id=f"json-array-{name}") for name, body, data in ARRAYS),
]
Make = Callable[..., Framing]


def frames(make: Make, chunks: list[bytes]) -> list[Frame]:
    return read(make, chunks)[0]


def read(make: Make, chunks: list[bytes]) -> tuple[list[Frame], bool]:
    """Return the frames, and whether the body is recognised."""
    framing = make()
    return [frame for chunk in chunks for frame in framing.receive(chunk)] + framing.end(), framing.recognised


def assert_bytes(make: Make, body: bytes, found: list[Frame]) -> None:
    """A frame of JSON knows its bytes; one of SSE has those of a whole event."""
    if make is not SseFraming:
        assert all(body[frame.start : frame.end] == frame.data for frame in found)


@for_each(("make", "body", "data"), TABLE)
def test_frames_are_those_of_the_table_however_the_bytes_are_cut(
    make: Make, body: bytes, data: tuple[bytes, ...]
) -> None:
    expected = frames(make, [body])
    assert tuple(frame.data for frame in expected) == data
    assert_bytes(make, body, expected)
    assert frames(make, chunkings.bytewise(body)) == expected
    for chunks in chunkings.two_way_cuts(body):
        assert frames(make, chunks) == expected


BOM = b"\xef\xbb\xbf"
SSE_LINES = st.sampled_from([b"data: a", b"data:", b"data", b": c", b"event: e", b"id: 1", b"", BOM, b"x"])
JSON_LINES = st.sampled_from(
    [A, b" {}", b"{}\t", b"", b" ", b"x", b"1", b'{"a":"\xe2\x80\xa8"}', b"\xef\xbb\xbf", b"{"]
)
TOKENS = st.lists(
    st.sampled_from([*map(bytes, zip(b'[]{},"\\ \n1', strict=True)), b'{"a":"}"}', b'"]"', BOM, b"\xe2"]),
    max_size=30,
).map(b"".join)


def lines(contents: st.SearchStrategy[bytes], ends: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(st.tuples(contents, st.sampled_from(ends)).map(b"".join), max_size=12).map(b"".join)


BODIES: dict[Make, st.SearchStrategy[bytes]] = {
    SseFraming: st.binary(max_size=60) | lines(SSE_LINES, [b"\n", b"\r\n", b"\r"]),
    NdjsonFraming: st.binary(max_size=60) | lines(JSON_LINES, [b"\n", b"\r\n", b"\r", b""]),
    JsonArrayFraming: st.binary(max_size=60) | TOKENS.map(lambda tokens: b"[" + tokens) | TOKENS,
}


@pytest.mark.parametrize("make", BODIES)
@given(data=st.data(), cuts=st.lists(st.integers(0, 120), max_size=6))
def test_frames_of_any_bytes_are_the_same_however_they_are_cut(
    make: Make, data: st.DataObject, cuts: list[int]
) -> None:
    body = data.draw(BODIES[make])
    expected = read(make, [body])
    assert read(make, chunkings.at(body, cuts)) == expected
    assert read(make, chunkings.bytewise(body)) == expected
    assert_bytes(make, body, expected[0])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(elements=st.lists(VALUES, max_size=5), indent=st.sampled_from([None, 0, 2]))
def test_frames_of_any_array_are_its_elements(elements: list[Any], indent: int | None) -> None:
    body = json.dumps(elements, indent=indent, ensure_ascii=False).encode()
    for chunks in ([body], chunkings.at_random(body, 1)):
        assert [json.loads(frame.data) for frame in frames(JsonArrayFraming, chunks)] == elements


@pytest.mark.parametrize(
    ("make", "first", "second", "data"),
    [(SseFraming, b"data: a\r", b"\r", b"a"), (JsonArrayFraming, b'[{"a":', b"1}", b'{"a":1}')],
)
def test_a_frame_is_emitted_with_its_last_byte(make: Make, first: bytes, second: bytes, data: bytes) -> None:
    framing = make()
    assert framing.receive(first) == []
    assert [frame.data for frame in framing.receive(second)] == [data]


def test_an_event_knows_its_bytes_and_its_name() -> None:
    body = b": hi\n\nevent: x\ndata: a\r\n\r\ndata: b"
    first, *_ = frames(SseFraming, [body + b"\n\n"])
    assert body[first.start : first.end] == b"event: x\ndata: a\r\n"
    assert first.event == b"x"


STARTS = {
    SseFraming: (b": ping\n\n", b"event: message_st", b"eve", b"\xef\xbb\xbfda", b"retry: 100\n\n", b"data"),
    NdjsonFraming: (A + b"\n", A, b'{"model":"x","mes', b"{", b"\n\n" + A + b"\nno"),
    JsonArrayFraming: (b"[", b" [", b'[{"err', b"\xef\xbb\xbf[", b"[]"),
}
OTHER_BODIES = {
    SseFraming: (
        *(b"", b"<html>:root {}</html>", b'{"type":"error"}', b'{\n  "data": 1\n}'),
        b"<style>\n:root { }\n</style>",
    ),
    NdjsonFraming: (b"", b"\n\n", b"<html>", b"<html>\n", b'{\n  "error": 1\n}\n', b"[1]\n", b'"a"'),
    JsonArrayFraming: (b"", b" \n", b"{}", b"data: [1]", b"<html>"),
}


@pytest.mark.parametrize(
    ("make", "body"), [(make, body) for make, bodies in STARTS.items() for body in bodies]
)
def test_a_body_is_recognised_by_its_start(make: Make, body: bytes) -> None:
    assert read(make, [body])[1]
    assert read(make, chunkings.bytewise(body))[1]


@pytest.mark.parametrize(
    ("make", "body"), [(make, body) for make, bodies in OTHER_BODIES.items() for body in bodies]
)
def test_a_page_or_a_document_is_not_recognised(make: Make, body: bytes) -> None:
    assert not read(make, [body])[1]
    assert not read(make, chunkings.bytewise(body))[1]


@pytest.mark.parametrize(
    ("make", "good", "rest"),
    [
        pytest.param(SseFraming, b"data: a\n\n", b"data: " + b"x" * 60 + b"\n\n", id="sse-long-line"),
        pytest.param(SseFraming, b"data: a\n\n", b"data: " + b"x" * 60, id="sse-line-without-end"),
        pytest.param(SseFraming, b"data: a\n\n", b"data: xxxx\n" * 20 + b"\n", id="sse-many-lines"),
        pytest.param(SseFraming, b"data: a\n\n", b":" + b"x" * 60 + b"\n", id="sse-comment"),
        pytest.param(
            NdjsonFraming, A + b"\n", b'{"b":"' + b"x" * 60 + b'"}\n{"c":3}\n', id="ndjson-long-line"
        ),
        pytest.param(NdjsonFraming, A + b"\n", b'{"b":"' + b"x" * 60, id="ndjson-line-without-end"),
        pytest.param(NdjsonFraming, A + b"\n", b" " * 60 + b"\n", id="ndjson-blank-line"),
        pytest.param(
            JsonArrayFraming, b"[" + A + b",", b'{"b":"' + b"x" * 60 + b'"},{"c":3}]', id="json-array-long"
        ),
        pytest.param(JsonArrayFraming, b"[" + A + b",", b'{"b":"' + b"x" * 60, id="json-array-without-end"),
        pytest.param(JsonArrayFraming, b"[" + A + b",", b"[" * 60, id="json-array-deep"),
        pytest.param(JsonArrayFraming, b"[" + A + b",", b"1" * 60 + b"]", id="json-array-long-scalar"),
    ],
)
def test_a_frame_beyond_the_bound_is_a_fault_and_no_frame(make: Make, good: bytes, rest: bytes) -> None:
    (first,) = frames(make, [good])
    for chunks in ([good + rest], chunkings.bytewise(good + rest)):
        framing = make(max_frame_bytes=50)
        got = [frame.data for chunk in chunks for frame in framing.receive(chunk)]
        assert [*got, *(frame.data for frame in framing.end())] == [first.data]
        assert framing.fault == "a frame is longer than 50 bytes"
        assert framing.receive(good) == []


def test_many_small_frames_are_within_the_bound() -> None:
    framing = SseFraming(max_frame_bytes=50)
    assert len(framing.receive(b"data: xxxxxxxxxx\n\n" * 100)) == 100
    assert framing.fault is None


def measure(make: Make, body: bytes) -> float:
    """Return the CPU seconds of reading the body in tiny chunks, the better of two."""
    best = []
    for _ in range(2):
        began = time.process_time()
        framing = make()
        for chunk in chunkings.at(body, list(range(0, len(body), 8))):
            framing.receive(chunk)
        best.append(time.process_time() - began)
    return min(best)


@pytest.mark.parametrize(
    ("make", "start", "piece", "end"),
    [
        pytest.param(SseFraming, b"data: ", b"x", b"\n\n", id="sse"),
        pytest.param(NdjsonFraming, b'{"a":"', b"x", b'"}\n', id="ndjson"),
        pytest.param(JsonArrayFraming, b'[["', b"x", b'"]]', id="json-array-text"),
        pytest.param(JsonArrayFraming, b'[["', b"\\\\", b'"]]', id="json-array-escapes"),
        pytest.param(JsonArrayFraming, b'[["', b'","', b'"]]', id="json-array-strings"),
    ],
)
def test_time_is_linear_in_one_huge_frame_fed_in_tiny_pieces(
    make: Make, start: bytes, piece: bytes, end: bytes
) -> None:
    """Eight times the bytes take about eight times as long; a rescan would take 64 times."""
    small, large = (start + piece * (size // len(piece)) + end for size in (100_000, 800_000))
    assert measure(make, large) < 20 * max(measure(make, small), 0.01)
