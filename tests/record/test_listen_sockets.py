"""`conform record listen` on WebSockets: what both sides say passes unchanged, and becomes cassettes."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import CloseConnection

from streamconform.wire.websocket import BINARY, encode_close, encode_fragments, encode_frame
from streamconform_capture.record import socket_relay
from streamconform_capture.record.overheard import Overheard, Received
from streamconform_capture.record.socket_relay import Direction
from streamconform_capture.record.socket_tape import SocketTape

from .sockets import PATH, End, Reset, Silence, SocketClient, events, frame, serving_sockets, wait_for
from .test_listen import conform, listening

API = "openai-responses"
KEY = "sk-a-key-of-the-client-0123456789"
ASKED = {"model": "m", "input": "Hi.", "store": False}
FRAMES = [frame(event) for event in events()]


def answer(_):
    return FRAMES


def test_an_answer_over_a_websocket_is_replayed_over_both_transports(tmp_path):
    with serving_sockets(answer) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url, KEY)
        assert client.ask(ASKED) == events()
        client.leave()
        code, err = proxy.stop()
    assert code == 0, err
    assert f"Authorization: Bearer {KEY}".encode() in server.heads[0]
    assert b"Sec-WebSocket-Extensions" not in server.heads[0]
    assert json.loads(server.messages[0]) == {"type": "response.create", **ASKED}
    assert server.closed == [1000]
    kept = proxy.load(api=API)
    assert (kept.status, kept.suffix) == (200, "sse")
    assert kept.request.body == {**ASKED, "stream": True}
    assert len(kept.marks) == len(FRAMES)
    assert "over a WebSocket" in kept.provenance.note
    assert f"{API}/overheard-1: a WebSocket, " in err
    assert KEY not in "".join(path.read_text("utf-8") for path in tmp_path.rglob("*.*") if path.is_file())
    done = conform(tmp_path, "run", "-v", "--specs", "specs", "--cassettes", "cassettes")
    assert done.returncode == 0, done.stdout + done.stderr
    listed = conform(tmp_path, "list", "--trials", "--specs", "specs", "--cassettes", "cassettes").stdout
    assert "overheard-1@bytewise" in listed
    assert "overheard-1@websocket-fragments" in listed


WARM_UP = [
    {**event, **({"response": {**event["response"], "output": []}} if "response" in event else {})}
    for event in events()
    if event["type"] in ("response.created", "response.in_progress", "response.completed")
]


@pytest.mark.parametrize(
    ("more", "replied", "lines"),
    [
        ({"generate": False}, WARM_UP, WARM_UP),
        ({"stream_id": "a"}, events(), None),
        ({}, [{"type": "error", "status": 400, "error": {"type": "t", "message": "no"}}], None),
        ({}, [*events(), {"type": "response.steer.pending", "steer_id": "s"}], None),
    ],
    ids=["warm-up", "lane", "error", "steering"],
)
def test_what_only_a_websocket_has_is_kept_as_its_messages_and_replayed_there(tmp_path, more, replied, lines):
    lane = {"stream_id": "a"} if "stream_id" in more else {}
    expected = lines or [{**event, **lane} for event in replied]
    with serving_sockets(lambda _: map(frame, expected)) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url, KEY)
        client.ask({**ASKED, **more})
        wait_for(lambda: len(client.texts) == len(expected) or not client._read())
        client.leave()
        code, err = proxy.stop()
    assert code == 0, err
    kept = proxy.load(api=API)
    assert (kept.status, kept.suffix) == (101, "ndjson")
    assert kept.request.body == {**ASKED, **more}
    assert [json.loads(line) for line in kept.body.splitlines()] == expected
    done = conform(tmp_path, "run", "-v", "--specs", "specs", "--cassettes", "cassettes")
    assert done.returncode == 0, done.stdout + done.stderr


def test_several_answers_on_a_connection_and_in_lanes_are_several_cassettes(tmp_path):
    waiting = []

    def reply(message):
        asked = json.loads(message)
        lane = asked.get("stream_id")
        if lane is None or asked["type"] == "response.steer":
            return [] if lane else FRAMES
        waiting.append([frame({**event, "stream_id": lane}) for event in events(lane)])
        return [each for pair in zip(*waiting, strict=True) for each in pair] if len(waiting) == 2 else []

    with serving_sockets(reply) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        assert client.ask(ASKED) == client.ask({**ASKED, "input": "And?"}) == events()
        client.send({"type": "response.create", **ASKED, "stream_id": "a"})
        client.send({"type": "response.steer", "stream_id": "a", "input": "Stop."})
        client.ask({**ASKED, "stream_id": "b"})
        wait_for(lambda: len(client.texts) == 2 * len(FRAMES) or not client._read())
        client.leave()
        code, err = proxy.stop()
    assert (code, "4 exchanges recorded" in err) == (0, True), err
    kept = {name: proxy.load(f"overheard-{name}", API) for name in range(1, 5)}
    assert kept[2].request.body["input"] == "And?"
    lanes = {kept[n].request.body["stream_id"]: [*map(json.loads, kept[n].body.splitlines())] for n in (3, 4)}
    assert lanes == {lane: [{**event, "stream_id": lane} for event in events(lane)] for lane in "ab"}


def test_fragments_pings_and_spaces_are_forwarded_and_the_messages_are_whole(tmp_path):
    first = json.dumps(events()[0], indent=1).encode()
    sent = [*encode_fragments((first[:30], first[30:])), encode_frame(b"?", 0x9), *FRAMES[1:]]
    with serving_sockets(lambda _: sent) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        assert client.ask(ASKED) == events()
        client.leave()
        assert proxy.stop()[0] == 0
    assert len(proxy.load(api=API).body.splitlines()) == 3 * len(FRAMES)  # the name, the payload, and no text


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (encode_close(1011, "overloaded"), {"$close": {"code": 1011, "reason": "overloaded"}}),
        (encode_close(1000), {"$close": {"code": 1000}}),
        (b"", {"$abort": True}),
    ],
    ids=["overloaded", "normal", "abort"],
)
def test_an_answer_that_breaks_off_is_kept_with_the_end_of_its_connection(tmp_path, end, line):
    steps = [*FRAMES[:5], end, End()]
    with serving_sockets(lambda _: steps) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        assert client.ask(ASKED) == events()[:5]
        assert client.close.code == line.get("$close", {"code": 1006})["code"]
        client.leave()
        code, err = proxy.stop()
    assert code == 0, err
    assert "cut: closed" in err, err
    kept = proxy.load(api=API)
    *before, last = map(json.loads, kept.body.splitlines())
    assert (before, last) == (events()[:5], line)
    done = conform(tmp_path, "run", "--specs", "specs", "--cassettes", "cassettes")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_reset_reaches_the_client_as_a_reset(tmp_path):
    steps = [*FRAMES[:3], Reset()]
    with serving_sockets(lambda _: steps) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        assert client.ask(ASKED) == events()[:3]
        assert client.was_reset
        client.leave()
        code, err = proxy.stop()
    assert (code, "cut: reset" in err) == (0, True), err
    assert json.loads(proxy.load(api=API).body.splitlines()[-1]) == {"$abort": True}


def test_a_client_that_leaves_ends_the_answer_and_loses_nothing_that_had_arrived(tmp_path):
    steps = [*FRAMES[:3], Silence()]
    with serving_sockets(lambda _: steps) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        client.send({"type": "response.create", **ASKED})
        wait_for(lambda: len(client.texts) == 3 or not client._read())
        client.leave(politely=False)
        wait_for(lambda: server.closed == [None])
        code, err = proxy.stop()
    assert (code, "cut: client left" in err) == (0, True), err
    assert [*map(json.loads, proxy.load(api=API).body.splitlines())] == events()[:3]


def test_what_had_arrived_is_kept_when_the_recorder_is_stopped(tmp_path):
    with (
        serving_sockets(lambda _: [*FRAMES[:3], Silence()]) as server,
        listening(tmp_path, server.url) as proxy,
    ):
        client = SocketClient(proxy.url)
        client.send({"type": "response.create", **ASKED})
        wait_for(lambda: len(client.texts) == 3 or not client._read())
        code, err = proxy.stop()
        client.leave(politely=False)
    assert code == 0, err
    assert len(proxy.load(api=API).body.splitlines()) == 3


def test_a_secret_that_the_server_spells_out_stops_the_writing_and_the_exit_code_says_so(tmp_path):
    leaked = json.loads(json.dumps(events()).replace('"OK"', f'"{KEY[:20]}"'))
    leaked[5]["text"] = "OK"
    pieces = [
        {**leaked[4], "delta": KEY[:17]},
        {**leaked[4], "delta": KEY[17:]},
    ]
    sent = [*leaked[:4], *pieces, *events()[5:]]
    with serving_sockets(lambda _: map(frame, sent)) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url, KEY)
        client.ask(ASKED)
        client.leave()
        code, err = proxy.stop()
    assert (code, "not saved: POST /v1/responses" in err) == (2, True), err
    assert KEY not in err
    assert not (tmp_path / "cassettes").exists()


def test_a_key_in_an_answer_is_replaced_by_one_of_the_same_length(tmp_path):
    said = json.loads(json.dumps(events()).replace('"OK"', json.dumps(f"Your key is {KEY}.")))
    with serving_sockets(lambda _: map(frame, said)) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url, KEY)
        assert client.ask(ASKED) == said
        client.leave()
        assert proxy.stop()[0] == 0
    body = proxy.load(api=API).body
    assert KEY.encode() not in body
    assert f"Your key is {'x' * len(KEY)}.".encode() in body


def test_a_refused_handshake_passes_and_is_no_answer(tmp_path):
    refusal = (401, {"error": {"type": "invalid_request_error", "message": "no"}})
    with (
        serving_sockets(answer, refuse=lambda _: refusal) as server,
        listening(tmp_path, server.url) as proxy,
    ):
        client = SocketClient(proxy.url, KEY)
        assert client.is_open is False
        client.leave()
        code, err = proxy.stop()
    assert (code, "not saved: GET /v1/responses: HTTP 401" in err) == (2, True), err


def test_messages_that_answer_nothing_are_listed(tmp_path):
    def reply(_):
        return [encode_frame(b"{}", BINARY), frame({"type": "response.created", "stream_id": "x"}), *FRAMES]

    with serving_sockets(reply) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        assert [each for each in client.ask(ASKED) if "stream_id" not in each] == events()
        assert client.binary == 1
        client.leave()
        code, err = proxy.stop()
    assert (code, "1 exchange recorded" in err) == (0, True), err
    assert "not saved: GET /v1/responses: 2 messages that no request asked for" in err


def test_requests_over_http_are_recorded_by_the_same_recorder(tmp_path):
    with serving_sockets(answer) as server, listening(tmp_path, server.base_url) as proxy:
        client = SocketClient(proxy.url)
        assert client.ask(ASKED) == events()
        client.leave()
        assert proxy.stop()[0] == 0
    assert proxy.load(api=API).status == 200


def test_a_page_of_another_machine_cannot_open_a_websocket(tmp_path):
    with serving_sockets(answer) as server, listening(tmp_path, server.url) as proxy:
        host, port = proxy.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(
                f"GET {PATH} HTTP/1.1\r\nHost: {host}\r\nOrigin: https://evil.example\r\n".encode()
                + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
                + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n"
            )
            assert connection.recv(65536).startswith(b"HTTP/1.1 403 ")
        proxy.stop()
    assert server.heads == []


def test_a_server_that_stays_after_the_close_frame_is_left(monkeypatch):
    monkeypatch.setattr(socket_relay, "CLOSE_SECONDS", 0.2)

    class Deaf:
        """A stream that never ends."""

        async def read(self, _):
            await asyncio.Event().wait()

    class Closing:
        """A client that has sent what `data` has, and then waits."""

        def __init__(self, data):
            self.left = [data]

        async def read(self, _):
            if self.left:
                return self.left.pop()
            return b""

    class Ignored:
        """The other end of a connection."""

        def write(self, _):
            pass

        async def drain(self):
            pass

        def can_write_eof(self):
            return False

    async def relay():
        handshake = Overheard(number=1, method="GET", target=PATH, request_headers={}, request_body=b"")
        tape = SocketTape(handshake, lambda _: handshake, lambda _: None, Received())
        goodbye = Connection(ConnectionType.CLIENT).send(CloseConnection(code=1000))
        client = Direction(Closing(goodbye), Ignored(), tape.hear_client, b"")
        server = Direction(Deaf(), Ignored(), tape.hear_server, b"", tape.hear_server_end)
        await asyncio.wait_for(socket_relay.relay(client, server, tape), 10)
        return tape

    tape = asyncio.run(relay())
    assert (tape.has_client_closed, tape.cut) == (True, "client left")


def test_a_request_with_half_a_surrogate_pair_is_answered_and_accounted_for(tmp_path):
    with serving_sockets(answer) as server, listening(tmp_path, server.url) as proxy:
        client = SocketClient(proxy.url)
        assert client.ask({**ASKED, "input": "\ud800"}) == events()
        client.leave()
        code, err = proxy.stop()
    assert code in (0, 2), err
    assert "overheard-1: a WebSocket" in err or "not saved: POST /v1/responses" in err
