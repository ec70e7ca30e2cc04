"""Over a WebSocket, a stream keeps its events, whatever the frames; a break of the socket is never an end."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

from streamconform.delivery.stream import read_stream
from streamconform.model.case import Skip
from streamconform.model.leaf import list_values
from streamconform.model.outcome import BROKEN_STATUSES
from streamconform.model.trial import DELIVERIES, DELIVERY_SETS, FAULTS, LARGE, SAMPLE_TAG, find_transport
from streamconform.suite.expand import expand
from streamconform.wire import websocket
from streamconform.wire.framings import split
from streamconform_reference.framing.websocket import WebSocketFraming

from .. import bundled_suite

OVER_WEBSOCKET = tuple(name for name in DELIVERIES if find_transport(name) == "websocket")
API = "openai-responses"


@cache
def streams():
    sampled = {case.id for case in bundled_suite.sample(bundled_suite.streams())}
    return tuple(
        case
        for case in bundled_suite.streams()
        if case.api == API
        and (case.id in sampled or SAMPLE_TAG in case.tags)
        and read_stream(case).framing == "sse"
    )


@cache
def trials(name):
    """Return the trials with a delivery, or with a kind of fault."""
    deliveries, faults = ((name,), "none") if name in DELIVERIES else ((), "all")
    return tuple(
        trial
        for trial in expand(streams(), deliveries, "bytes", 0, faults)
        if trial.delivery.partition(".")[0] == name
    )


def events_of(case):
    payloads = [frame.payload for frame in read_stream(case).frames]
    return [payload for payload in payloads if payload != b"[DONE]"]


def read_with_wsproto(body):
    """Return the messages of text, the number of pings, and the code of a close frame."""
    client = Connection(ConnectionType.CLIENT)
    client.receive_data(body)
    texts, pings, code = [""], 0, None
    for event in client.events():
        match event:
            case TextMessage(data=data, message_finished=is_whole):
                texts[-1] += data
                texts += [""] * is_whole
            case Ping():
                pings += 1
            case CloseConnection(code=number):
                code = int(number)
            case BytesMessage():
                raise AssertionError("no event is binary")
    assert texts.pop() == "", "the last message is whole"
    return [text.encode() for text in texts], pings, code


@pytest.mark.parametrize("name", OVER_WEBSOCKET)
def test_another_library_reads_the_events_of_every_stream(name):
    assert trials(name)
    for trial in trials(name):
        texts, pings, code = read_with_wsproto(trial.body)
        assert [text.rstrip() for text in texts] == events_of(trial.case), trial.id
        assert any(len(text) > 1 << 20 for text in texts) == (name == LARGE), trial.id
        assert bool(pings) == (name == "websocket-fragments"), trial.id
        # Those of the cassette come on top.
        assert pings <= 8 + sum(b"$ping" in frame.payload for frame in read_stream(trial.case).frames)
        has_ended = read_stream(trial.case).terminal < len(read_stream(trial.case).frames)
        # No client can know that a message without a type is the last one.
        has_ended &= trial.case.id != "openai-responses/errors/error-without-type"
        assert code == (None if has_ended else 1000), trial.id


@pytest.mark.parametrize("name", OVER_WEBSOCKET)
def test_the_harness_reads_the_frames_that_it_wrote(name):
    for trial in trials(name):
        payloads = [frame.payload.rstrip() for frame in split("websocket", trial.body)]
        assert payloads == events_of(trial.case), trial.id
        assert all(trial.chunks), trial.id


def test_a_message_in_fragments_is_cut_inside_a_character():
    bodies = [trial for trial in trials("websocket-fragments") if not trial.case.cassette.body.isascii()]
    assert bodies
    for trial in bodies:
        assert any(not is_text(chunk[2:]) for chunk in trial.chunks), trial.id


def is_text(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_stream_has_every_delivery_but_only_a_sample_the_large_message():
    for name in OVER_WEBSOCKET:
        wanted = [case for case in streams() if name != LARGE or SAMPLE_TAG in case.tags]
        assert [trial.case.id for trial in trials(name)] == [case.id for case in wanted], name


def test_only_an_api_with_such_a_transport_has_these_trials():
    for case in bundled_suite.sample(bundled_suite.streams()):
        made = {trial.transport for trial in expand((case,), DELIVERY_SETS["full"], "bytes", 0, "all")}
        also = {"websocket"} if case in streams() else set()
        assert made == {case.cassette.transport, *also}, case.id


def test_a_document_is_not_sent_over_a_websocket():
    (case,) = (each for each in bundled_suite.cases() if each.id == f"{API}/errors/http-400-bad-parameter")
    assert [*expand((case,), OVER_WEBSOCKET, "bytes", 0, "none")] == []


@pytest.mark.parametrize("kind", [name for name in FAULTS if find_transport(name) == "websocket"])
def test_a_break_of_the_socket_before_the_terminal_event_is_a_break_of_the_answer(kind):
    codes = {"websocket-cut": None, "websocket-close": 1000, "websocket-error": 1011}
    assert trials(kind)
    for trial in trials(kind):
        number = int(trial.delivery.rpartition(".")[2])
        texts, _, code = read_with_wsproto(trial.body)
        events = events_of(trial.case)[: number + 1]
        assert texts[: number + 1] == events, trial.id
        assert len(texts) - len(events) == (kind == "websocket-error"), trial.id
        assert code == codes[kind], trial.id
        assert set(list_values(trial.expect.fields["status"])) <= {*BROKEN_STATUSES}, trial.id


def test_a_case_that_skips_a_fault_skips_the_same_one_over_a_websocket():
    case = next(case for case in streams() if case.skip is None)
    for fault, alike in (("cut-after-frame", "websocket-cut"), ("error-frame", "websocket-error")):
        skipping = replace(case, skip=Skip(why="it does", faults=frozenset({fault})))
        kinds = {trial.delivery.partition(".")[0] for trial in expand((skipping,), (), "bytes", 0, "all")}
        assert fault not in kinds
        assert alike not in kinds


PAYLOADS = st.binary(max_size=300)
PARTS = st.lists(PAYLOADS, min_size=1, max_size=4).map(
    lambda parts: b"".join(websocket.encode_fragments(tuple(parts)))
)
CONTROL = st.one_of(
    st.builds(
        websocket.encode_frame,
        st.binary(max_size=125),
        st.sampled_from((websocket.PING, websocket.PONG)),
    ),
    st.builds(websocket.encode_close, st.sampled_from((1000, 1001, 1011)), st.sampled_from(("", "gone"))),
)
BINARY = st.builds(websocket.encode_frame, PAYLOADS, st.just(websocket.BINARY))
ANY = st.lists(st.one_of(PARTS, CONTROL, BINARY, st.binary(max_size=4)), max_size=6).map(b"".join)


@given(ANY, st.lists(st.integers(0, 400), max_size=6))
def test_harness_and_reference_read_the_same_messages(body, cuts):
    framing, found, start = WebSocketFraming(), [], 0
    for cut in sorted({*cuts, len(body)}):
        found += framing.receive(body[start:cut])
        start = cut
    framing.end()
    read = split("websocket", body)
    assert [(frame.start, frame.end, frame.data) for frame in found] == [
        (frame.start, frame.end, frame.payload) for frame in read
    ]


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, (1 << 20) + 1])
def test_every_form_of_a_length_is_read(size):
    payload = b"x" * size
    body = websocket.encode_frame(payload)
    assert read_with_wsproto(body)[0] == [payload]
    assert [frame.payload for frame in split("websocket", body)] == [payload]
    assert [frame.data for frame in WebSocketFraming().receive(body)] == [payload]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"\xc1\x00", "extension"),
        (b"\x83\x00", "extension"),
        (b"\x81\x80\0\0\0\0", "masked"),
        (b"\x09\x00", "fragmented"),
        (b"\x89\x7e\x00\x7e", "too long"),
        (b"\x80\x00", "without having begun"),
        (b"\x01\x00\x81\x00", "inside another"),
    ],
)
def test_an_invalid_frame_ends_the_connection(body, fault):
    framing = WebSocketFraming()
    assert framing.receive(body) == []
    assert fault in framing.fault
    assert split("websocket", body + websocket.encode_frame(b"{}")) == ()


def test_a_message_above_the_limit_is_a_fault():
    framing = WebSocketFraming(max_frame_bytes=4)
    framing.receive(websocket.encode_fragments((b"123", b"45"))[0])
    framing.receive(b"\x80\x02")
    assert "longer than 4 bytes" in framing.fault
