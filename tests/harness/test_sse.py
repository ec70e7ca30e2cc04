"""Split SSE bodies into frames: compared with a table, and with the reference's incremental parser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from streamconform.wire import sse
from streamconform_reference.framing.sse import SseFraming

from .. import bundled_suite

TABLE = [
    ("nothing", b"", []),
    ("blank-lines", b"\n\r\n\r", []),
    ("one", b"data: a\n\n", [(None, b"a")]),
    ("lf", b"event: x\ndata: a\n\ndata: b\n\n", [("x", b"a"), (None, b"b")]),
    ("crlf", b"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", [("x", b"a"), (None, b"b")]),
    ("cr", b"event: x\rdata: a\r\rdata: b\r\r", [("x", b"a"), (None, b"b")]),
    ("mixed", b"data: a\r\n\ndata: b\r\r\ndata: c\n\r", [(None, b"a"), (None, b"b"), (None, b"c")]),
    ("crlf-is-one-end", b"data: a\r\ndata: b\r\n\r\n", [(None, b"a\nb")]),
    ("bom", b"\xef\xbb\xbfdata: a\n\n", [(None, b"a")]),
    ("bom-inside", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [(None, b"a")]),
    ("comment", b": hi\n\n:\ndata: a\n:x\ndata: b\n\n", [(None, b"a\nb")]),
    ("no-space", b"data:a\n\n", [(None, b"a")]),
    ("two-spaces", b"data:  a\n\n", [(None, b" a")]),
    ("tab", b"data:\ta\n\n", [(None, b"\ta")]),
    ("lines", b"data: a\ndata\ndata: b\n\n", [(None, b"a\n\nb")]),
    ("empty-data", b"data\n\ndata:\n\ndata: \n\n", []),
    ("two-empty-data", b"data\ndata\n\n", [(None, b"\n")]),
    ("no-data", b"event: x\nid: 1\n\n", []),
    ("name-does-not-last", b"event: x\n\ndata: a\n\n", [(None, b"a")]),
    ("last-name-counts", b"event: x\nevent: y\ndata: a\n\n", [("y", b"a")]),
    ("empty-name", b"event\ndata: a\n\n", [("", b"a")]),
    ("done", b"data: [DONE]", [(None, b"[DONE]")]),
    ("json-without-end", b'data: {"a":1}', [(None, b'{"a":1}')]),
    ("json-without-blank-line", b'data: {"a":1}\r\n', [(None, b'{"a":1}')]),
    ("cut-json", b'data: a\n\ndata: {"a":', [(None, b"a")]),
    ("cut-text", b"data: hello\n", []),
    ("cut-nan", b"data: NaN\n", []),
    ("cut-utf-16", b"data: 1\x00\n", []),
    ("cut-deep", b"data: " + b"[" * 100_000, []),
    (
        "unicode-line-ends",
        "data: a\u2028b\u2029c\x85d\n\n".encode(),
        [(None, "a\u2028b\u2029c\x85d".encode())],
    ),
    ("other-separators", b"data: a\x0bb\x0cc\x1cd\n\n", [(None, b"a\x0bb\x0cc\x1cd")]),
    ("html", b"<!doctype html>\n<p>data: x</p>\n\n", []),
    ("json-document", b'{"type": "error"}\n\n', []),
]


@pytest.mark.parametrize(("body", "frames"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_body_is_split_as_the_standard_specifies(body, frames):
    assert [(frame.event, frame.payload) for frame in sse.split(body)] == frames


def reference(body: bytes) -> list[tuple[str | None, bytes]]:
    framing = SseFraming()
    found = [*framing.receive(body), *framing.end()]
    return [
        (None if frame.event is None else frame.event.decode("utf-8", "replace"), frame.data)
        for frame in found
    ]


pieces = st.lists(
    st.sampled_from(
        (
            *(
                b"\n",
                b"\r",
                b"\r\n",
                b"\n\n",
                b":",
                b" ",
                b"data",
                b"data: ",
                b"data:",
                b"event: ",
                b"id: 1",
                b"{",
            ),
            *(
                b"}",
                b'{"a":1}',
                b"[DONE]",
                b"[1,",
                b"x",
                b"12",
                b"\xef\xbb\xbf",
                b"\xff",
                b"\xe2\x80\xa8",
                b"NaN",
            ),
            *(b"\x00", b"\x0b", b'"\\ud800"', "ü".encode(), b"datax: 1", b" data: 1"),
        )
    ),
    max_size=24,
).map(b"".join)


@settings(
    max_examples=600, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
@given(pieces | st.binary(max_size=60))
@example(b'data: "\xff"')
@example(b"data: \xef\xbb\xbf1")
def test_both_readings_of_the_standard_agree_on_any_body(body):
    """The harness and the reference have separate implementations on purpose."""
    assert [(frame.event, frame.payload) for frame in sse.split(body)] == reference(body)


def test_both_readings_agree_on_every_bundled_body():
    for cassette in bundled_suite.cassettes():
        split = [(frame.event, frame.payload) for frame in sse.split(cassette.body)]
        assert split == reference(cassette.body), cassette.name


def test_frames_are_in_order_and_their_value_offsets_are_right():
    for cassette in bundled_suite.cassettes():
        end = 0
        for frame in sse.split(cassette.body):
            assert end <= frame.start < frame.end
            end = frame.end
            if frame.value is not None:
                assert cassette.body[slice(*frame.value)] == frame.payload
                assert frame.start <= frame.value[0] <= frame.value[1] <= frame.end


@pytest.mark.parametrize("name", ["x", None])
def test_a_written_event_is_read_again(name):
    (frame,) = sse.split(sse.encode_event(b'{"a":1}', name))
    assert (frame.event, frame.payload) == (name, b'{"a":1}')


def test_splitting_takes_linear_time():
    assert len(sse.split(b"data: 1\n\n" * 50_000)) == 50_000
    assert sse.split(b"data: " + b"x" * 1_000_000) == ()
    assert len(sse.split(b":" * 1_000_000 + b"\n" + b"data: x\n\n")) == 1


@settings(max_examples=600, derandomize=True, deadline=None, database=None)
@given(pieces)
@example(b"event: x\ndata: a\n\ndata: b\n\nid: 1\ndata: c\n\n")
def test_events_that_are_read_in_one_step_are_those_that_are_read_line_by_line(body):
    """A byte order mark, which is in no frame, makes `split` read lines."""
    size = len(sse.BOM)
    if not body.startswith(sse.BOM):
        moved = [
            replace(
                frame,
                start=frame.start - size,
                end=frame.end - size,
                value=frame.value and (frame.value[0] - size, frame.value[1] - size),
            )
            for frame in sse.split(sse.BOM + body)
        ]
        assert list(sse.split(body)) == moved
