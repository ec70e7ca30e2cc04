"""The recorder is a server: what its clients and the upstream may do to it, and what it must account for."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

import h11
import pytest

from streamconform.errors import LostError
from streamconform.model.cassette import Cassette, ChunkMark, Recorded, Request
from streamconform.run.exits import Exit
from streamconform_capture.cli.record import listen as command
from streamconform_capture.record import listen, live, overheard
from streamconform_capture.record.listen import RecordingProxy, Upstream
from streamconform_capture.record.listened import KeptExchange, NotKept
from streamconform_capture.record.overheard import Overheard, Received

from .anthropic import answer
from .server import END, HEAD, Wait, chunk, replying, serving, stream
from .test_listen import MESSAGES, REQUEST, connect, listening

BODY = answer("Hi, ", "you.")
TEXT = json.dumps(REQUEST).encode()
LENGTHS = HEAD + b"Content-Length: 60\r\n\r\n"


@contextmanager
def proxying(upstream):
    """Yield a recorder in this process, whose limits a test can change, and its exchanges."""
    kept: list[Overheard] = []
    proxy = RecordingProxy(Upstream(upstream), kept.append)
    started, stopped = threading.Event(), threading.Event()

    async def serve():
        async with proxy:
            started.set()
            await asyncio.to_thread(stopped.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    started.wait(10)
    try:
        yield proxy, kept
    finally:
        stopped.set()
        thread.join(10)


def dial(url):
    address = urlsplit(url)
    return socket.create_connection((address.hostname, address.port), 10)


def wait_until(is_true):
    deadline = time.monotonic() + 10
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.01)


def post(url, **headers):
    with connect(url) as connection:
        connection.request("POST", MESSAGES, TEXT, {"content-type": "application/json"} | headers)
        got = connection.getresponse()
        return got.status, got.read()


def test_a_length_beside_a_transfer_encoding_is_dropped_and_the_answer_is_whole(tmp_path):
    steps = (LENGTHS, chunk(BODY[:100]), chunk(BODY[100:]), END)
    with serving(*steps) as server, listening(tmp_path, server.base_url) as proxy:
        assert proxy.post() == (200, BODY)
        code, err = proxy.stop()
    assert code == 0, err
    assert proxy.load().body == BODY
    assert proxy.load().provenance.note is None


def test_an_answer_that_cannot_be_forwarded_is_not_saved_as_whole(monkeypatch):
    shorter = h11.Response(status_code=200, headers=[("content-length", "60")])
    monkeypatch.setattr(listen, "_make_response", lambda _: shorter)
    with (
        serving(LENGTHS, chunk(BODY), END) as server,
        proxying(server.base_url) as (proxy, kept),
        pytest.raises((http.client.HTTPException, ConnectionError)),
    ):
        post(proxy.url)
    assert [(each.is_whole, each.cut) for each in kept] == [(False, "not forwarded")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": "[bad"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
    ],
)
def test_requests_of_foreign_pages_are_not_forwarded(headers):
    with serving(*stream(BODY)) as server, proxying(server.base_url) as (proxy, kept):
        status, body = post(proxy.url, **headers)
        assert (status, server.requests, kept) == (403, [], [])
        assert json.loads(body)["error"]["type"] == "proxy_error"


@pytest.mark.parametrize(
    "headers", [{"Host": "localhost:1234"}, {"Host": "[::1]:1"}, {"Origin": "http://localhost:3000"}]
)
def test_requests_of_local_pages_are_forwarded(headers):
    with serving(*stream(BODY)) as server, proxying(server.base_url) as (proxy, _):
        assert post(proxy.url, **headers) == (200, BODY)


@pytest.mark.parametrize("headers", [{"a": "b" * 70_000}, {f"a{number}": "b" * 500 for number in range(130)}])
def test_a_larger_head_is_refused_even_if_it_arrives_at_once(monkeypatch, headers):
    monkeypatch.setattr(http.client, "_MAXHEADERS", 1000)
    with serving(*stream(BODY)) as server, proxying(server.base_url) as (proxy, _):
        assert post(proxy.url, **headers)[0] == 431
        assert server.requests == []


def test_a_request_body_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(listen, "MAX_REQUEST", 10)
    with serving(*stream(BODY)) as server, proxying(server.base_url) as (proxy, _):
        assert post(proxy.url)[0] == 413
        assert server.requests == []


def test_a_larger_head_of_an_answer_is_no_answer():
    head = HEAD + b"a: " + b"b" * 70_000 + b"\r\n\r\n"
    with serving(head, chunk(BODY), END) as server, proxying(server.base_url) as (proxy, kept):
        assert post(proxy.url)[0] == 502
    assert kept[0].status is None
    assert proxy.received == Received()


def test_headers_that_connection_names_are_not_forwarded():
    head = HEAD + b"Connection: x-hop\r\nX-Hop: 1\r\n\r\n"
    with serving(head, chunk(BODY), END) as server, proxying(server.base_url) as (proxy, _):
        with connect(proxy.url) as connection:
            connection.request("POST", MESSAGES, TEXT, {"Connection": "x-mine", "X-Mine": "1"})
            got = connection.getresponse()
            assert got.read() == BODY
            assert got.getheader("x-hop") is None
        assert b"x-mine" not in server.requests[0].lower()


def test_bytes_that_a_client_sends_ahead_are_read_up_to_a_limit():
    with (
        serving(HEAD + b"\r\n", chunk(BODY[:50]), Wait(20)) as server,
        proxying(server.base_url) as (proxy, _),
        dial(proxy.url) as client,
    ):
        client.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n{}")
        while BODY[:50] not in client.recv(65536):
            pass
        client.settimeout(1)
        sent = 0
        with suppress(TimeoutError):
            while sent < 64 << 20:
                sent += client.send(b"x" * 65536)
        assert sent < 64 << 20


def test_a_request_that_does_not_arrive_is_answered_and_an_idle_client_is_disconnected(monkeypatch):
    monkeypatch.setattr(listen, "RECEIVE_SECONDS", 0.2)
    monkeypatch.setattr(listen, "IDLE_SECONDS", 0.2)
    with proxying("http://127.0.0.1:9") as (proxy, _):
        with dial(proxy.url) as client:
            client.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 10\r\n\r\n{")
            assert client.recv(65536).startswith(b"HTTP/1.1 408")
        with dial(proxy.url) as client:
            client.sendall(b"POST /v1/mess")
            assert client.recv(65536) == b""
        with dial(proxy.url) as client:
            assert client.recv(65536) == b""


def test_half_open_connections_do_not_keep_others_out(monkeypatch):
    monkeypatch.setattr(listen, "MAX_CONNECTIONS", 8)
    with (
        replying(*[lambda _: stream(BODY)] * 3) as server,
        proxying(server.base_url) as (proxy, _),
        ExitStack() as opened,
    ):
        for _ in range(12):
            client = opened.enter_context(dial(proxy.url))
            with suppress(ConnectionError):
                client.sendall(b"POST /v1/messages HTTP/1.1\r\n")
        for _ in range(3):
            assert post(proxy.url) == (200, BODY)


def test_a_client_whose_answer_runs_is_not_disconnected_for_another(monkeypatch):
    monkeypatch.setattr(listen, "MAX_CONNECTIONS", 1)
    steps = (HEAD + b"\r\n", chunk(BODY[:50]), Wait(1), chunk(BODY[50:]), END)
    with (
        serving(*steps) as server,
        proxying(server.base_url) as (proxy, _),
        connect(proxy.url) as connection,
    ):
        connection.request("POST", MESSAGES, TEXT)
        got = connection.getresponse()
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            post(proxy.url)
        assert got.read() == BODY


def test_chunks_beyond_the_limit_are_recorded_as_one_and_the_note_says_so(monkeypatch):
    monkeypatch.setattr(live, "MAX_MARKS", 3)
    with serving(*stream(BODY, size=1)) as server, proxying(server.base_url) as (proxy, kept):
        assert post(proxy.url) == (200, BODY)
    assert [mark.offset for mark in kept[0].marks] == [0, 1, 2]
    recording = live.RawRecording(
        path=MESSAGES,
        request_headers={},
        request_body=b"{}",
        status=200,
        headers={},
        body=BODY,
        received=len(BODY),
        marks=tuple(kept[0].marks),
        cut=None,
    )
    origin = Recorded(server="a server", model="m", date="2026-01-01", tool="a tool")
    cassette = live.to_cassette(recording, api="anthropic-messages", name="a", provenance=origin)
    assert cassette.provenance.note == "Only the first 3 chunk boundaries were recorded."


def test_the_bytes_of_an_answer_are_counted_beyond_what_is_stored(monkeypatch):
    monkeypatch.setattr(overheard, "MAX_BYTES", 100)
    with serving(*stream(BODY)) as server, proxying(server.base_url) as (proxy, kept):
        assert post(proxy.url) == (200, BODY)
    assert (len(kept[0].body), kept[0].received, kept[0].cut) == (100, len(BODY), "too_large")
    assert proxy.received == Received(1, len(BODY))


def make_exchange(number=1):
    return Overheard(
        number=number,
        method="POST",
        target=MESSAGES,
        request_headers={},
        request_body=TEXT,
        status=200,
        body=bytearray(BODY),
        received=len(BODY),
        is_whole=True,
    )


def make_kept(tmp_path, body):
    cassette = Cassette(
        api="anthropic-messages",
        name="a",
        request=Request(method="POST", path=MESSAGES, headers={}, body=REQUEST),
        status=200,
        headers={},
        body=body,
        suffix="sse",
        marks=(ChunkMark(0, 0),),
        provenance=Recorded(server="a server", model="m", date="2026-01-01", tool="a tool"),
    )
    return KeptExchange(cassette, tmp_path / "a.yaml", {}, (), is_twin=False)


def test_every_answer_and_every_byte_is_saved_or_refused(tmp_path, capsys):
    kept = make_kept(tmp_path, BODY)
    results = iter([kept, NotKept("POST /v1/messages", "why", is_lost=True)])
    writer = command._Writer(lambda _: next(results))
    writer.add(make_exchange(1))
    writer.add(make_exchange(2))
    writer.finish(None)
    assert writer.summarise(Received(2, 2 * len(BODY))) == Exit.USAGE
    assert "1 exchange recorded, 1 not saved" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "received"), [(BODY[:-1], Received(1, len(BODY))), (BODY, Received(2, 2 * len(BODY)))]
)
def test_a_byte_or_an_answer_that_is_lost_is_a_bug(tmp_path, body, received):
    writer = command._Writer(lambda _: make_kept(tmp_path, body))
    writer.add(make_exchange())
    writer.finish(None)
    with pytest.raises(LostError) as raised:
        writer.summarise(received)
    assert f"{received.bytes:,} bytes received, but {len(body):,} saved or refused" in str(raised.value)
    is_lost = "2 answers received, but 1 saved or refused" in str(raised.value)
    assert is_lost == (received.answers == 2)


def test_ctrl_c_does_not_wait_for_a_write_that_takes_too_long_and_names_it(tmp_path, capsys):
    released = threading.Event()

    def keep_slowly(*_):
        released.wait(30)
        return make_kept(tmp_path, BODY)

    writer = command._Writer(keep_slowly)
    writer.add(make_exchange(1))
    writer.add(make_exchange(2))
    began = time.monotonic()
    writer.finish(0.2)
    assert time.monotonic() - began < 10
    released.set()
    assert writer.summarise(Received(2, 2 * len(BODY))) == Exit.USAGE
    err = capsys.readouterr().err
    for number in (1, 2):
        line = f"not saved: POST request {number}: {len(BODY):,} bytes were still being written"
        assert line in err
    assert command.PATIENCE <= 2


def test_ctrl_c_waits_as_long_as_exchanges_are_written(tmp_path):
    def keep(*_):
        time.sleep(0.15)
        return make_kept(tmp_path, BODY)

    writer = command._Writer(keep)
    for number in range(8):
        writer.add(replace(make_exchange(), number=number))
    writer.finish(0.6)
    assert writer.summarise(Received(8, 8 * len(BODY))) == Exit.EXPECTED


def test_a_free_connection_is_closed_with_the_recorder():
    with proxying("http://127.0.0.1:9") as (proxy, _), closing(dial(proxy.url)) as client:
        client.sendall(b"POST")
        wait_until(lambda: bool(proxy._waiting))
    assert not proxy._waiting
