"""The replay server, seen from a socket: the bytes it writes, how replies end, and hostile clients."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
import zlib

import httpx
import pytest

from streamconform.adapters.feed import Gate
from streamconform.replay import request, sending
from streamconform.replay.request import ServerLimits
from streamconform.replay.server import HOST, ReplayServer

from .sockets import BODY, CHUNKS, Got, answer, connect, post, read, send_and_read, trial

WHOLE = b"".join(CHUNKS)
LAST = b"0\r\n\r\n"
DELTA = {"type": "text_delta", "content_index": 0, "delta": "a"}


def test_each_chunk_of_the_trial_is_a_chunk_on_the_wire():
    got, exchange = answer(trial(), until=LAST)
    assert (got.status, got.chunks) == (200, [*CHUNKS, b""])
    assert b"content-type: text/event-stream" in got.head
    assert exchange.describe_requests() == [
        {"method": "POST", "path": "/v1/messages", "bytes": 15, "status": 200}
    ]
    assert exchange.complaint is None


@pytest.mark.parametrize("delivery", ["random", "cut-inside-json.2", "cut-inside-utf8.2"])
def test_where_nothing_tells_the_end_the_connection_does(delivery):
    got, _ = answer(trial(delivery))
    assert (got.body, got.end) == (WHOLE, "eof")
    assert b"connection: close" in got.head
    assert b"transfer-encoding" not in got.head
    assert b"content-length" not in got.head


def test_a_whole_body_has_a_length():
    got, _ = answer(trial("whole", (WHOLE,)), headers="connection: close\r\n")
    assert (got.body, got.end) == (WHOLE, "eof")
    assert f"content-length: {len(WHOLE)}".encode() in got.head


def test_a_client_of_http_1_0_gets_no_chunks():
    got, _ = answer(trial(), version="1.0")
    assert (got.body, got.end) == (WHOLE, "eof")


def test_a_gzipped_body_can_be_read_as_far_as_it_came():
    got, _ = answer(trial("gzip"), headers="accept-encoding: br, gzip\r\n", until=LAST)
    assert b"content-encoding: gzip" in got.head
    assert gzip.decompress(b"".join(got.chunks)) == WHOLE
    inflate = zlib.decompressobj(wbits=31)
    assert tuple(inflate.decompress(chunk) for chunk in got.chunks[:-1]) == CHUNKS


@pytest.mark.parametrize("accepts", [None, "identity", "gzip;q=0, br", "gzip; q=0.0"])
def test_a_client_that_does_not_accept_gzip_is_skipped(accepts):
    headers = f"accept-encoding: {accepts}\r\n" if accepts else ""
    got, exchange = answer(trial("gzip"), headers=headers, until=LAST)
    assert got.chunks == [*CHUNKS, b""]
    assert exchange.mismatch == "the client does not accept gzip"


def test_a_reset_follows_the_bytes_and_is_not_an_end_of_file():
    got, _ = answer(trial("reset.1", CHUNKS[:2]))
    assert (got.chunks, got.end) == ([*CHUNKS[:2]], "reset")


def test_a_reset_waits_until_a_client_of_this_machine_has_read(monkeypatch):
    monkeypatch.setattr(sending, "_READ_SECONDS", 60.0)

    def late(port, request):
        with socket.create_connection((HOST, port)) as own:
            own.sendall(request)
            own.recv(1, socket.MSG_PEEK)  # its first bytes have arrived, but no more follow
            time.sleep(10 * sending._PROCESS_SECONDS)
            assert own.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0, "no RST came"
            data = b""
            try:
                while more := own.recv(65536):
                    data += more
            except ConnectionResetError:
                return Got(data, "reset")
            return Got(data, "eof")

    async def read_late():
        async with ReplayServer() as server:
            with server.exchange(trial("reset.1", CHUNKS[:2])) as exchange:
                request = post(exchange.base_url.removeprefix(server.url) + "/v1/messages")
                return await asyncio.to_thread(late, int(server.url.rpartition(":")[2]), request)

    got = asyncio.run(read_late())
    assert (got.chunks, got.end) == ([*CHUNKS[:2]], "reset")


def test_a_stall_is_silent_with_the_connection_open_then_closes_without_an_end_of_the_body():
    got, _ = answer(trial("stall.1", CHUNKS[:2]))
    assert (got.chunks, got.end) == ([*CHUNKS[:2]], "eof")

    async def silent():
        async with ReplayServer(bounds=ServerLimits(stall_seconds=None)) as server:
            with server.exchange(trial("stall.1", CHUNKS[:2])) as exchange:
                reader, writer = await connect(server)
                writer.write(post(exchange.base_url.removeprefix(server.url) + "/v1/messages"))
                before = await read(reader, until=CHUNKS[1])
            after = await read(reader)
            writer.close()
            return before, after

    before, after = asyncio.run(silent())
    assert before.end == "open"
    assert (after.data, after.end) in ((b"", "reset"), (b"", "eof"), (b"\r\n", "reset"), (b"\r\n", "eof"))


def test_the_last_chunk_is_held_until_the_first_delta_came_out():
    async def held():
        async with ReplayServer() as server:
            gate = Gate(len(CHUNKS), seconds=60)
            with server.exchange(trial(), gate) as exchange:
                reader, writer = await connect(server)
                writer.write(post(exchange.base_url.removeprefix(server.url) + "/v1/messages"))
                before = await read(reader, until=CHUNKS[-2] + b"\r\n")
                handed = gate.chunks_passed
                gate.record_event({"type": "text_start", "content_index": 0})
                gate.record_event(DELTA)
                after = await read(reader, until=LAST)
                writer.close()
                return before.chunks, handed, after.data, gate.chunks_passed

    before, handed, after, all_of_them = asyncio.run(held())
    assert before == [*CHUNKS[:-1]]
    assert CHUNKS[-1] in after
    assert (handed, all_of_them) == (len(CHUNKS) - 1, len(CHUNKS))


def test_a_gate_that_nothing_opens_opens_by_itself():
    async def late():
        gate = Gate(1, seconds=0.01)
        await gate.wait_for_turn()
        return gate.chunks_passed

    assert asyncio.run(late()) == 1


def test_recorded_times_are_kept_if_requested():
    offsets = [sum(map(len, CHUNKS[:i])) for i in range(len(CHUNKS))]
    of = trial(marks=[(offset, 20 * i) for i, offset in enumerate(offsets)])

    async def timed(scale):
        async with ReplayServer(time_scale=scale) as server:
            with server.exchange(of) as exchange:
                began = asyncio.get_running_loop().time()
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                got = await send_and_read(server, post(path), until=LAST)
                return got.chunks, asyncio.get_running_loop().time() - began

    chunks, seconds = asyncio.run(timed(2.0))
    assert chunks == [*CHUNKS, b""]
    assert seconds >= 0.02 * 2 * (len(CHUNKS) - 1)


def test_a_connection_is_kept_and_bytes_after_a_request_begin_the_next_one():
    async def twice():
        async with ReplayServer() as server:
            with server.exchange(trial()) as exchange:
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                sent = post(path) + post(path, headers="connection: close\r\n")
                return await send_and_read(server, sent), len(exchange.requests)

    got, count = asyncio.run(twice())
    assert (got.data.count(b"HTTP/1.1 200 OK"), got.data.count(LAST), got.end, count) == (2, 2, "eof", 2)


def test_a_client_may_ask_before_it_sends_a_large_body():
    async def waits():
        async with ReplayServer() as server:
            with server.exchange(trial()) as exchange:
                reader, writer = await connect(server)
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                writer.write(post(path, headers="expect: 100-continue\r\n").removesuffix(BODY))
                first = await read(reader, until=b"\r\n\r\n")
                writer.write(BODY)
                got = await read(reader, until=LAST)
                writer.close()
                return first.data, got.chunks

    assert asyncio.run(waits()) == (b"HTTP/1.1 100 Continue\r\n\r\n", [*CHUNKS, b""])


def test_what_the_client_sent_is_kept(monkeypatch):
    monkeypatch.setattr(request, "MAX_KEPT_BODY", len(BODY))
    _, exchange = answer(trial(), until=LAST, headers="X-Api-Key: conform\r\n")
    ((received, made),) = exchange.requests
    assert (received.method, received.target) == ("POST", "/v1/messages")
    assert (received.body, received.size) == (BODY, len(BODY))
    assert received.header("x-api-key") == "conform"
    assert made.recorded


def test_a_request_beyond_the_bound_is_refused_and_its_body_is_not_kept(monkeypatch):
    monkeypatch.setattr(request, "MAX_KEPT_BODY", len(BODY) - 1)
    got, exchange = answer(trial(), headers="connection: close\r\n")
    ((received, _),) = exchange.requests
    assert (got.status, received.body, received.size) == (413, b"", len(BODY))
    assert exchange.mismatch.startswith("the request body has more than")
    assert not exchange.model_requests


def test_repeated_requests_get_the_same_answer_up_to_a_limit():
    async def again():
        async with ReplayServer() as server:
            with server.exchange(trial()) as exchange:
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                return [
                    (await send_and_read(server, post(path), until=b"\r\n\r\n")).status for _ in range(17)
                ]

    assert asyncio.run(again()) == [200] * 16 + [404]


def test_the_twin_answers_who_asks_for_no_stream():
    of = trial()
    object.__setattr__(of.case.cassette, "twin", b'{"type":"message"}')
    got, exchange = answer(of, body=b'{"stream":false}', headers="connection: close\r\n")
    assert (got.status, got.body) == (200, b'{"type":"message"}')
    assert b"content-type: application/json" in got.head
    assert "a non-streaming answer" in exchange.complaint


@pytest.mark.parametrize("delivery", ["as-is", "cut-after-frame.2", "stall.1"])
def test_where_there_is_no_answer_in_one_piece_the_document_says_so(delivery):
    got, exchange = answer(trial(delivery), body=b'{"stream":false}', headers="connection: close\r\n")
    error = json.loads(got.body)["error"]
    assert (got.status, error["type"]) == (400, "streamconform_replay")
    assert "a non-streaming answer" in error["message"]
    assert exchange.complaint == error["message"]


ERROR = b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'


def test_an_error_document_answers_every_kind_of_request():
    of = trial("as-is", (ERROR,), body=ERROR, status=529)
    for body in (BODY, b'{"stream":false}'):
        got, _ = answer(of, body=body, headers="connection: close\r\n")
        assert (got.status, ERROR in got.body) == (529, True)


WRONG = [
    ("GET", "/v1/messages", "GET /v1/messages"),
    ("POST", "/v1/v1/messages", "POST /v1/v1/messages"),
    ("POST", "//v1/messages", "POST //v1/messages"),
    ("POST", "", "POST /"),
    ("DELETE", "/v1/messages?a=1", "DELETE /v1/messages?a=1"),
]


@pytest.mark.parametrize(("method", "path", "shown"), WRONG)
def test_a_wrong_path_or_method_is_reported_to_the_client_and_in_the_trial(method, path, shown):
    async def sent():
        async with ReplayServer() as server:
            with server.exchange(trial()) as exchange, httpx.Client(trust_env=False) as client:
                answered = await asyncio.to_thread(client.request, method, exchange.base_url + path)
                return answered, exchange

    answered, exchange = asyncio.run(sent())
    words = f"the server got `{shown}`; expected `POST BASE_URL/v1/messages`"
    assert answered.status_code == 404
    assert answered.json()["error"]["message"] == words
    assert exchange.complaint == words


def test_a_request_without_the_prefix_is_reported_in_the_running_trials():
    async def astray():
        async with ReplayServer() as server:
            with server.exchange(trial()) as exchange:
                got = await send_and_read(server, post("/v1/messages", headers="connection: close\r\n"))
                return got, exchange.complaint

    got, complaint = asyncio.run(astray())
    assert (got.status, json.loads(got.body)["error"]["expected"][:11]) == (404, "a path that")
    assert complaint.startswith("the server got `POST /v1/messages`: the path does not begin with a base URL")


def test_a_trial_that_is_over_answers_no_more_and_its_streams_end():
    async def over():
        async with ReplayServer() as server:
            with server.exchange(trial(), Gate(len(CHUNKS), seconds=60)) as exchange:
                reader, writer = await connect(server)
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                writer.write(post(path))
                await read(reader, until=CHUNKS[0])
            rest = await read(reader)
            writer.close()
            late = await send_and_read(server, post(path, headers="connection: close\r\n"))
            return rest.end, LAST in rest.data, late, exchange

    end, ended, late, exchange = asyncio.run(over())
    assert end in ("eof", "reset")
    assert not ended
    assert (late.status, len(exchange.requests)) == (404, 1)
    assert b"or it has ended" in late.body


@pytest.mark.parametrize(("unread", "reset"), [(0, False), (64 * 1024 * 1024, True)])
def test_the_end_of_a_trial_resets_only_connections_whose_client_does_not_read(unread, reset):
    """A connection whose answer was sent may be back in the client's pool, for the next request."""

    async def ended():
        async with ReplayServer() as server:
            _, writer = await connect(server)
            writer.write(bytes(unread))  # nobody takes as much
            with server.exchange(trial()) as exchange:
                exchange.transports.add(writer.transport)
            closing = writer.transport.is_closing()
            writer.transport.abort()
            return closing

    assert asyncio.run(ended()) == reset


HOSTILE = [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
    (b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"a" * 100_000, 431),
    (post("/x/1/v1/messages", b"a" * 3000), 413),
]


@pytest.mark.parametrize(("sent", "status"), HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_request_is_refused_and_the_others_are_served(sent, status, monkeypatch):
    monkeypatch.setattr(request, "MAX_BODY", 2000)

    async def attacked():
        async with ReplayServer() as server:
            with server.exchange(trial()) as exchange:
                got = await send_and_read(server, sent)
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                return got, await send_and_read(server, post(path), until=LAST)

    got, served = asyncio.run(attacked())
    assert (got.status, got.end) == (status, "eof")
    assert served.chunks == [*CHUNKS, b""]


def test_half_a_request_and_connections_without_end_cost_little():
    async def starved():
        bounds = ServerLimits(connections=3, request_seconds=0.1)
        async with ReplayServer(bounds=bounds) as server:
            with server.exchange(trial()) as exchange:
                path = exchange.base_url.removeprefix(server.url) + "/v1/messages"
                slow = [await connect(server) for _ in range(3)]
                slow[1][1].write(post(path)[:-3])
                served = [await send_and_read(server, post(path), until=LAST)]
                evicted, timed_out = await read(slow[0][0]), await read(slow[1][0])
                served.append(await send_and_read(server, post(path), until=LAST))
                for _, writer in slow:
                    writer.transport.abort()
                return evicted, timed_out, served

    evicted, timed_out, served = asyncio.run(starved())
    assert evicted.data == b""
    assert timed_out.data == b""
    assert [response.chunks for response in served] == [[*CHUNKS, b""]] * 2


def test_a_client_that_disconnects_in_the_middle_does_no_harm():
    async def gone():
        big = tuple(b"data: " + b"x" * 60_000 + b"\n\n" for _ in range(200))
        async with ReplayServer() as server:
            with server.exchange(trial(chunks=big)) as one, server.exchange(trial()) as other:
                reader, writer = await connect(server)
                writer.write(post(one.base_url.removeprefix(server.url) + "/v1/messages"))
                await read(reader, until=b"data: ")
                writer.transport.abort()
                path = other.base_url.removeprefix(server.url) + "/v1/messages"
                return await send_and_read(server, post(path), until=LAST)

    assert asyncio.run(gone()).chunks == [*CHUNKS, b""]


def test_64_trials_at_once_each_get_their_own_answer():
    bodies = [tuple(f'data: {{"n":{n},"i":{i}}}\n\n'.encode() for i in range(50)) for n in range(64)]

    async def together():
        async with (
            ReplayServer() as server,
            httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=64)) as client,
        ):

            async def one(chunks):
                with server.exchange(trial(chunks=chunks)) as exchange:
                    answered = await client.post(exchange.base_url + "/v1/messages", json={"stream": True})
                    return answered.content

            return await asyncio.gather(*map(one, bodies))

    assert asyncio.run(together()) == [b"".join(chunks) for chunks in bodies]


def test_the_server_is_on_the_loopback_only():
    async def address():
        async with ReplayServer() as server:
            return server.url, [listener.getsockname()[0] for listener in server._server.sockets]

    url, hosts = asyncio.run(address())
    assert url.startswith("http://127.0.0.1:")
    assert hosts == ["127.0.0.1"]
