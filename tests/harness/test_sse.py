"""Split SSE bodies into frames: compared with a table, and with the reference's incremental parser."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from streamconform.wire import sse
from streamconform_reference.framing.sse import SseFraming

from .. import bundled_suite, sse_bodies


@pytest.mark.parametrize(
    ("body", "frames"), [*sse_bodies.BODIES, pytest.param(b"data: " + b"[" * 100_000, [], id="cut-deeper")]
)
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
            *(b"\n", b"\r", b"\r\n", b"\n\n", b":", b" ", b"data", b"data: ", b"data:", b"event: ", b"id: 1"),
            *(b"{", b"}", b'{"a":1}', b"[DONE]", b"[1,", b"x", b"12", b"NaN", b"\x00", b"\x0b", b'"\\ud800"'),
            *(b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", "ü".encode(), b"datax: 1", b" data: 1"),
        )
    ),
    max_size=24,
).map(b"".join)


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
