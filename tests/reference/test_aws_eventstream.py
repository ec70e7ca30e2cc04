"""Framing of AWS event streams: lengths, headers and checksums, in any chunks."""

from __future__ import annotations

import struct
import time
import zlib
from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_reference.framing import Frame
from streamconform_reference.framing.aws_eventstream import EventStreamFraming

from .bedrock_converse_streams import STREAMS, damaged, exception, frame, header, message, text_header

EVENT = text_header(":event-type", "x")
GOOD = message(EVENT, b"{}")


def prelude(total: int, headers: int) -> bytes:
    lengths = struct.pack(">II", total, headers)
    return lengths + struct.pack(">I", zlib.crc32(lengths))


def read(chunks: list[bytes]) -> tuple[list[Frame], str | None, bool]:
    framing = EventStreamFraming()
    frames = [frame for chunk in chunks for frame in framing.receive(chunk)] + framing.end()
    return frames, framing.fault, framing.recognised


def test_a_frame_is_a_message_with_its_name_its_headers_and_its_place() -> None:
    body = GOOD + exception("throttlingException", "slow")
    (first, second), fault, recognised = read([body])
    assert first == Frame(b"{}", b"x", 0, len(GOOD), {":event-type": "x"})
    assert second.data == b'{"message": "slow"}'
    assert second.event == b"throttlingException"
    assert body[second.start : second.end] == body[len(GOOD) :]
    assert second.headers is not None
    assert second.headers[":message-type"] == "exception"
    assert fault is None
    assert recognised


def test_every_type_of_header_is_read() -> None:
    uuid = UUID("12345678-1234-5678-1234-567812345678")
    block = b"".join(
        [
            header("true", 0, b""),
            header("false", 1, b""),
            header("byte", 2, b"\xff"),
            header("short", 3, b"\xff\xfe"),
            header("int", 4, struct.pack(">i", -3)),
            header("long", 5, struct.pack(">q", 2**40)),
            header("bytes", 6, b"\x00\x02\x00\xff"),
            text_header("text", "é"),
            header("time", 8, struct.pack(">q", 1_700_000_000_000)),
            header("uuid", 9, uuid.bytes),
            text_header("empty", ""),
        ]
    )
    ((found,), fault, _) = read([message(block, b"")])
    assert fault is None
    assert found.event is None
    assert found.headers == {
        "true": True,
        "false": False,
        "byte": -1,
        "short": -2,
        "int": -3,
        "long": 2**40,
        "bytes": b"\x00\xff",
        "text": "é",
        "time": 1_700_000_000_000,
        "uuid": str(uuid),
        "empty": "",
    }


@dataclass(frozen=True, slots=True)
class Broken:
    id: str
    body: bytes
    fault: str


BROKEN = [
    Broken("message-checksum", damaged(GOOD, len(GOOD) - 1), "its checksum is wrong"),
    Broken("payload-bit", damaged(GOOD, len(GOOD) - 5), "its checksum is wrong"),
    Broken("length-bit", damaged(GOOD, 3), "the checksum of its lengths is wrong"),
    Broken(
        "lengths-that-lie", b"\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00", "the checksum of its lengths"
    ),
    Broken("shorter-than-itself", prelude(12, 0), "0 bytes of headers do not fit into 12 bytes"),
    Broken("headers-beyond-the-message", prelude(20, 9), "9 bytes of headers do not fit into 20 bytes"),
    Broken("payload-too-long", prelude(2**24 * 3 // 2 + 17, 0), "exceed the maximum size of a message"),
    Broken("headers-too-long", prelude(2**18, 2**17 + 1), "exceed the maximum size of a message"),
    Broken("unknown-header-type", message(header("a", 10, b""), b""), "unknown header type 10"),
    Broken("header-twice", message(EVENT + EVENT, b""), "duplicate header `:event-type`"),
    Broken("name-beyond-the-headers", message(b"\x09ab", b""), "the headers are truncated"),
    Broken("header-without-a-type", message(b"\x01a", b""), "the headers are truncated"),
    Broken(
        "text-beyond-the-headers", message(header("a", 7, b"\x00\x05ab"), b""), "the headers are truncated"
    ),
    Broken("number-beyond-the-headers", message(header("a", 5, b"\x00"), b""), "the headers are truncated"),
    Broken("uuid-beyond-the-headers", message(header("a", 9, b"\x00"), b""), "the headers are truncated"),
    Broken("length-beyond-the-headers", message(header("a", 6, b"\x00"), b""), "the headers are truncated"),
    Broken("text-in-mid-stream", b"event: error\ndata: {}\n\n", "the checksum of its lengths is wrong"),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in BROKEN])
def test_a_broken_message_is_a_fault_after_the_earlier_frames(case: Broken) -> None:
    body = GOOD + case.body
    for chunks in ([body], chunkings.bytewise(body), *chunkings.two_way_cuts(body)):
        frames, fault, recognised = read(chunks)
        assert [frame.data for frame in frames] == [b"{}"]
        assert fault is not None
        assert fault.startswith(f"the message at byte {len(GOOD)} is broken: ")
        assert case.fault in fault
        assert recognised


def test_no_frames_follow_a_fault() -> None:
    framing = EventStreamFraming()
    assert framing.receive(damaged(GOOD, len(GOOD) - 1) + GOOD) == []
    fault = framing.fault
    assert fault is not None
    assert framing.receive(GOOD) == []
    assert framing.fault == fault


def test_a_message_that_the_end_cuts_is_no_frame_and_no_fault() -> None:
    for end in range(1, len(GOOD)):
        frames, fault, recognised = read([GOOD + GOOD[:end]])
        assert len(frames) == 1
        assert fault is None
        assert recognised


@pytest.mark.parametrize("body", [b"", b'{"message":"no"}', b"<html>", b"data: {}\n\n", b"\xef\xbb\xbf{}"])
def test_a_body_in_another_framing_is_not_recognised(body: bytes) -> None:
    for chunks in ([body], chunkings.bytewise(body)):
        assert read(chunks) == ([], None, False)


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_frames_are_the_same_however_the_bytes_are_cut(name: str) -> None:
    body = STREAMS[name]
    expected = read([body])
    assert read(chunkings.bytewise(body)) == expected
    for seed in range(5):
        assert read(chunkings.at_random(body, seed)) == expected


NAMES = st.text(max_size=5)
MESSAGES = st.builds(
    lambda headers, payload: message(
        b"".join(text_header(name, value) for name, value in headers.items()), payload
    ),
    st.dictionaries(NAMES, st.text(max_size=5), max_size=3),
    st.binary(max_size=20),
)


@given(
    messages=st.lists(MESSAGES, max_size=4),
    rest=st.binary(max_size=40),
    cuts=st.lists(st.integers(0, 300), max_size=6),
)
def test_any_bytes_are_framed_the_same_however_they_are_cut(
    messages: list[bytes], rest: bytes, cuts: list[int]
) -> None:
    body = b"".join(messages) + rest
    expected = read([body])
    assert len(expected[0]) >= len(messages)
    assert read(chunkings.at(body, cuts)) == expected
    assert read(chunkings.bytewise(body)) == expected


@given(body=st.binary(max_size=60), position=st.integers(0, 200), damage=st.binary(min_size=1, max_size=3))
def test_no_damage_raises(body: bytes, position: int, damage: bytes) -> None:
    good = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "hello"}})
    read([body])
    broken = good[:position] + damage + good[position + len(damage) :]
    assert read([broken]) == read(chunkings.bytewise(broken))


def seconds(size: int) -> float:
    body = message(EVENT, b"x" * size)
    best = []
    for _ in range(3):
        began = time.process_time()
        framing = EventStreamFraming()
        for chunk in chunkings.at(body, list(range(0, len(body), 8))):
            framing.receive(chunk)
        best.append(time.process_time() - began)
    return min(best)


def test_time_is_linear_in_one_huge_message_fed_in_tiny_pieces() -> None:
    """Eight times the bytes take about eight times as long; rescanning would take 64 times as long."""
    assert seconds(1_600_000) < 20 * max(seconds(200_000), 0.01)


def test_time_is_linear_in_many_messages_of_one_chunk() -> None:
    framing = EventStreamFraming()
    began = time.process_time()
    assert len(framing.receive(GOOD * 50_000)) == 50_000
    assert time.process_time() - began < 5
