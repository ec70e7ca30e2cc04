"""Upstreams that refuse, hang, break off and lie; clients that leave or do not read; a proxy that stops."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

import pytest
from streamconform_proxy.bounds import ProxyBounds
from streamconform_proxy.upstream import UpstreamTimeouts

from .started import ASKED, TO_ANTHROPIC, proxied, run
from .upstreams import event, last, record, saying

NOT_STREAMED = {**ASKED, "stream": False}


def failing(status, **headers):
    async def play(received, wire):
        del received
        await wire.document(status, {"error": "model is on fire"}, **headers)

    return play


@pytest.mark.parametrize(
    ("status", "told"), [(400, 400), (401, 401), (404, 404), (429, 429), (500, 500), (503, 529), (301, 502)]
)
@pytest.mark.parametrize("body", [ASKED, NOT_STREAMED], ids=["stream", "at-once"])
def test_a_refusal_of_the_upstream_is_one_in_the_clients_envelope(status, told, body):
    async def test():
        async with proxied(failing(status, retry_after="3", location="/other")) as between:
            got = await between.post(body)
            assert (got.status, got.document["type"]) == (told, "error")
            assert ("on fire" in got.document["error"]["message"]) == (status >= 400)
            assert got.headers.get("retry-after") == ("3" if status >= 400 else None)
            assert len(between.upstream.received) == 1

    run(test())


@pytest.mark.parametrize("body", [ASKED, NOT_STREAMED], ids=["stream", "at-once"])
def test_an_upstream_that_is_not_there_is_a_bad_gateway(body):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def test():
        async with proxied(saying(), url=f"http://127.0.0.1:{port}") as between:
            got = await between.post(body)
            assert (got.status, got.document["error"]["type"]) == (502, "api_error")
            assert "cannot reach the upstream" in got.document["error"]["message"]

    run(test())


@pytest.mark.parametrize("body", [ASKED, NOT_STREAMED], ids=["stream", "at-once"])
def test_an_upstream_that_does_not_answer_is_a_gateway_timeout(body):
    async def play(received, wire):
        del received
        await wire.until_gone()

    async def test():
        async with proxied(play, timeouts=UpstreamTimeouts(answer=0.1)) as between:
            got = await between.post(body)
            assert (got.status, got.document["error"]["type"]) == (504, "timeout_error")
            await between.upstream.closed()

    run(test())


@pytest.mark.parametrize("body", [ASKED, NOT_STREAMED], ids=["stream", "at-once"])
@pytest.mark.parametrize("how", ["closed", "no HTTP", "reset after the head", "nothing in the body", "HTML"])
def test_an_upstream_that_says_nothing_of_use_is_a_bad_gateway(how, body):
    async def play(received, wire):
        del received
        if how == "no HTTP":
            wire.writer.write(b"220 mail.example ESMTP\r\n\r\n")
        elif how != "closed":
            await wire.head(kind="text/html" if how == "HTML" else "application/x-ndjson")
            if how == "HTML":
                await wire.send(b"<html>Welcome</html>")
            if how != "reset after the head":
                await wire.end()
                return
        wire.reset() if how != "no HTTP" else await wire.writer.drain()

    async def test():
        async with proxied(play) as between:
            got = await between.post(body)
            assert (got.status, got.document["error"]["type"]) == (502, "api_error")

    run(test())


def lost(how):
    """Return a play that says something, and then does not end as it should."""

    async def play(received, wire):
        del received
        await wire.head()
        await wire.send(record(content="Hel"))
        await wire.send(record(content="lo"))
        if how == "error record":
            await wire.send(b'{"error": "the runner has died"}\n')
            await wire.end()
        elif how == "end of file":
            await wire.end()
        elif how == "half a record":
            await wire.send(b'{"model": "qwen')
            await wire.end()
        elif how == "no record":
            await wire.send(b"<html>502</html>\n")
            await wire.end()
        elif how == "reset":
            await asyncio.sleep(0)
            wire.reset()
        else:
            await wire.until_gone()

    return play


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("error record", "api_error"),
        ("end of file", "api_error"),
        ("half a record", "api_error"),
        ("no record", "api_error"),
        ("reset", "api_error"),
        ("silence", "timeout_error"),
    ],
)
def test_an_upstream_that_is_lost_in_mid_stream_ends_it_with_an_error_event(how, kind):
    async def test():
        async with proxied(lost(how), timeouts=UpstreamTimeouts(idle=0.2)) as between:
            got = await between.post()
            if got.status == 200:
                assert got.types[-1] == "error"
                assert got.events[-1]["error"]["type"] == kind
                assert {"message_delta", "message_stop"}.isdisjoint(got.types)
            else:  # a reset may overtake what was sent before it
                assert (how, got.status) == ("reset", 502)
            await between.upstream.closed()

    run(test())


def test_an_error_event_of_a_chat_stream_is_in_its_envelope():
    async def play(received, wire):
        del received
        await wire.head(kind="text/event-stream")
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
        await wire.send(event("message_start", message={**message, "usage": usage}))
        await wire.send(event("error", error={"type": "overloaded_error", "message": "Full"}))
        await wire.end()

    async def test():
        async with proxied(play, TO_ANTHROPIC) as between:
            got = await between.post(path="/v1/chat/completions")
            said = got.events[-1] if got.status == 200 else got.document
            assert "Full" in said["error"]["message"]

    run(test())


def test_an_error_in_the_first_record_is_a_status():
    async def play(received, wire):
        del received
        await wire.head()
        await wire.send(b'{"error": "no memory"}\n')
        await wire.end()

    async def test():
        async with proxied(play) as between:
            got = await between.post()
            assert (got.status, got.document["type"]) == (502, "error")
            assert "no memory" in got.document["error"]["message"]

    run(test())


@pytest.mark.parametrize("alive", [b"", b"\n"], ids=["silent", "its own signs of life"])
def test_an_upstream_that_says_nothing_does_not_leave_the_client_without_a_sign_of_life(alive):
    async def play(received, wire):
        del received
        await wire.head()
        await wire.send(record(content="Hello"))
        for _ in range(30):
            if alive:
                await wire.send(alive)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(wire.until_gone(), 0.01)
        await wire.send(last())
        await wire.end()

    async def test():
        async with proxied(play, bounds=ProxyBounds(ping=0.05)) as between:
            got = await between.post()
            assert (got.types.count("ping") > 2, got.text, got.types[-1]) == (True, "Hello", "message_stop")

    run(test())


@pytest.mark.parametrize("body", [ASKED, NOT_STREAMED], ids=["stream", "at-once"])
@pytest.mark.parametrize("spoken", [0, 1], ids=["before the head", "in the body"])
def test_a_client_that_leaves_ends_the_request_upstream(spoken, body):
    asked, gone = asyncio.Event(), asyncio.Event()

    async def play(received, wire):
        del received
        if spoken:
            await wire.head()
            await wire.send(record(content="Hello"))
        asked.set()
        await wire.until_gone()
        gone.set()

    async def test():
        async with proxied(play) as between:
            _, writer = await between.connect(body)
            await asked.wait()
            writer.close()
            await gone.wait()
            await between.logged.wait()
            assert between.log[-1].endswith("the client disconnected")

    run(test())


class Flood:
    """Sends text for as long as anybody takes it."""

    def __init__(self, most=10**12):
        self.most = most
        self.wire = None

    async def __call__(self, received, wire):
        del received
        self.wire = wire
        await wire.head()
        text = record(content="x" * 16384)
        while wire.written < self.most:
            await wire.send(text)
        await wire.send(last())
        await wire.end()

    async def stopped(self):
        """Return what was sent when nothing was taken for a while."""
        before = -1
        while self.wire is None or before != self.wire.written:
            before = self.wire.written if self.wire else -1
            await asyncio.sleep(0.2)
        return before


def test_a_client_that_does_not_read_stops_the_upstream_from_sending():
    flood = Flood()

    async def test():
        async with proxied(flood) as between:
            _, writer = await between.connect()
            assert await flood.stopped() < 24 * 1024 * 1024  # what four buffers of the system hold
            writer.transport.abort()
            await between.upstream.closed()

    run(test())


@pytest.mark.parametrize(
    ("play", "body"), [(Flood(), ASKED), (saying("x" * 8_000_000), NOT_STREAMED)], ids=["stream", "at-once"]
)
def test_a_client_that_never_reads_is_given_up(play, body):
    async def test():
        async with proxied(play, bounds=ProxyBounds(stalled=0.2)) as between:
            _, writer = await between.connect(body)
            await between.logged.wait()
            assert "read nothing" in between.log[-1]
            await between.upstream.closed()
            writer.close()

    run(test())


def test_a_slow_client_gets_everything():
    async def test():
        async with proxied(Flood(most=8_000_000)) as between:
            reader, writer = await between.connect()
            size, rest = 0, b""
            while not rest.endswith(b"\r\n0\r\n\r\n"):
                data = await reader.read(65536)
                rest = (rest + data)[-16:]
                size += len(data)
            writer.close()
            assert size > 8_000_000

    run(test())


def test_there_is_a_bound_of_requests_at_a_time():
    begun, go = asyncio.Semaphore(0), asyncio.Event()

    async def play(received, wire):
        begun.release()
        await go.wait()
        await saying("x")(received, wire)

    async def test():
        async with proxied(play, bounds=ProxyBounds(streams=2)) as between:
            tasks = [asyncio.ensure_future(between.post()) for _ in range(2)]
            for _ in tasks:
                await begun.acquire()
            refused = await between.post()
            assert (refused.status, refused.document["error"]["type"]) == (529, "overloaded_error")
            go.set()
            assert [(await task).text for task in tasks] == ["x", "x"]
            assert (await between.post()).text == "x"

    run(test())


def test_a_stop_lets_an_answer_come_to_its_end():
    go, begun = asyncio.Event(), asyncio.Event()

    async def play(received, wire):
        del received
        await wire.head()
        await wire.send(record(content="Hel"))
        begun.set()
        await go.wait()
        await wire.send(record(content="lo"))
        await wire.send(last())
        await wire.end()

    async def test():
        async with proxied(play) as between:
            answer = asyncio.ensure_future(between.post())
            await begun.wait()
            stopping = asyncio.ensure_future(between.proxy.stop())
            await asyncio.sleep(0)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", urlsplit(between.proxy.url).port)
            go.set()
            assert ((await answer).text, (await answer).types[-1]) == ("Hello", "message_stop")
            await stopping

    run(test())


@pytest.mark.parametrize("body", [ASKED, NOT_STREAMED], ids=["stream", "at-once"])
def test_a_stop_ends_what_does_not_end_with_an_error(body):
    begun = asyncio.Event()

    async def play(received, wire):
        if received.body["stream"]:
            await wire.head()
            await wire.send(record(content="Hel"))
        begun.set()
        await wire.until_gone()

    async def test():
        async with proxied(play, bounds=ProxyBounds(grace=0.1)) as between:
            answer = asyncio.ensure_future(between.post(body))
            await begun.wait()
            await between.proxy.stop()
            got = await answer
            if body["stream"] and got.status == 200:
                assert got.types[-1] == "error"
                assert "stopping" in got.events[-1]["error"]["message"]
            else:
                assert (got.status, got.document["error"]["type"]) == (529, "overloaded_error")
            await between.upstream.closed()

    run(test())


def test_a_connection_that_was_kept_gets_no_more_while_the_proxy_stops():
    async def play(received, wire):
        if received.body["stream"]:
            await wire.until_gone()
        await saying("x")(received, wire)

    async def test():
        async with proxied(play, bounds=ProxyBounds(grace=0.5)) as between:
            hanging = asyncio.ensure_future(between.post())
            assert (await between.post(NOT_STREAMED)).status == 200
            stopping = asyncio.ensure_future(between.proxy.stop())
            await asyncio.sleep(0)
            again = await between.post(NOT_STREAMED)  # on the connection of the first
            assert (again.status, again.headers["connection"]) == (529, "close")
            await stopping
            assert (await hanging).status == 529

    run(test())


def test_a_mistake_of_the_proxy_is_told_to_both_sides_and_the_next_request_is_served(monkeypatch):
    from streamconform_proxy import server

    async def test():
        async with proxied(saying("x")) as between:
            with monkeypatch.context() as broken:
                broken.setattr(server, "translate_request", lambda *_: 1 / 0)
                got = await between.post()
            assert (got.status, got.document["error"]["type"]) == (500, "api_error")
            assert "ZeroDivisionError" in "".join(between.log)
            assert (await between.post()).text == "x"

    run(test())
