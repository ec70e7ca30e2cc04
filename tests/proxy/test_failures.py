"""Upstreams that fail, hang and break off; clients that disconnect or do not read; a proxy that stops."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

import pytest

from streamconform_proxy.bounds import ProxyBounds
from streamconform_proxy.upstream import UpstreamTimeouts

from .started import REQUEST, TO_ANTHROPIC, proxied, run
from .upstreams import event, last, record, saying

NOT_STREAMED = {**REQUEST, "stream": False}


def failing(status, **headers):
    async def play(received, wire):
        del received
        await wire.document(status, {"error": "model is on fire"}, **headers)

    return play


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, 400), (401, 401), (404, 404), (429, 429), (500, 500), (503, 529), (301, 502)],
)
@pytest.mark.parametrize("body", [REQUEST, NOT_STREAMED], ids=["stream", "at-once"])
def test_an_upstream_error_keeps_its_status_in_the_clients_error_format(status, expected, body):
    async def test():
        async with proxied(failing(status, retry_after="3", location="/other")) as setup:
            response = await setup.post(body)
            assert (response.status, response.document["type"]) == (expected, "error")
            assert ("on fire" in response.document["error"]["message"]) == (status >= 400)
            assert response.headers.get("retry-after") == ("3" if status >= 400 else None)
            assert len(setup.upstream.received) == 1

    run(test())


@pytest.mark.parametrize("value", ["3\x0b", "3\x7f", "3\x01x", "caf\xe9", "9" * 200], ids=ascii)
def test_a_retry_header_that_no_client_can_read_is_not_passed_on(value):
    async def test():
        async with proxied(failing(429, retry_after=value)) as setup:
            response = await setup.post()
            assert (response.status, response.document["error"]["type"]) in (
                (429, "rate_limit_error"),
                (502, "api_error"),
            )
            assert "retry-after" not in response.headers

    run(test())


@pytest.mark.parametrize("body", [REQUEST, NOT_STREAMED], ids=["stream", "at-once"])
def test_an_unreachable_upstream_is_a_bad_gateway(body):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def test():
        async with proxied(saying(), url=f"http://127.0.0.1:{port}") as setup:
            response = await setup.post(body)
            assert (response.status, response.document["error"]["type"]) == (502, "api_error")
            assert "cannot reach the upstream" in response.document["error"]["message"]

    run(test())


@pytest.mark.parametrize("body", [REQUEST, NOT_STREAMED], ids=["stream", "at-once"])
def test_an_upstream_that_does_not_answer_is_a_gateway_timeout(body):
    async def play(received, wire):
        del received
        await wire.until_gone()

    async def test():
        async with proxied(play, timeouts=UpstreamTimeouts(answer=0.1)) as setup:
            response = await setup.post(body)
            assert (response.status, response.document["error"]["type"]) == (504, "timeout_error")
            await setup.upstream.closed()

    run(test())


@pytest.mark.parametrize("body", [REQUEST, NOT_STREAMED], ids=["stream", "at-once"])
@pytest.mark.parametrize("how", ["closed", "no HTTP", "reset after the head", "nothing in the body", "HTML"])
def test_an_upstream_without_a_usable_answer_is_a_bad_gateway(how, body):
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
        async with proxied(play) as setup:
            response = await setup.post(body)
            assert (response.status, response.document["error"]["type"]) == (502, "api_error")

    run(test())


def breaking_off(how):
    """Return a play that starts an answer and does not end it properly."""

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
def test_a_stream_that_breaks_off_ends_with_an_error_event(how, kind):
    async def test():
        async with proxied(breaking_off(how), timeouts=UpstreamTimeouts(idle=0.2)) as setup:
            response = await setup.post()
            if response.status == 200:
                assert response.types[-1] == "error"
                assert response.events[-1]["error"]["type"] == kind
                assert {"message_delta", "message_stop"}.isdisjoint(response.types)
            else:  # a reset may overtake data sent before it
                assert (how, response.status) == ("reset", 502)
            await setup.upstream.closed()

    run(test())


def test_an_error_event_of_a_chat_stream_has_openais_format():
    async def play(received, wire):
        del received
        await wire.head(kind="text/event-stream")
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
        await wire.send(event("message_start", message={**message, "usage": usage}))
        await wire.send(event("error", error={"type": "overloaded_error", "message": "Full"}))
        await wire.end()

    async def test():
        async with proxied(play, TO_ANTHROPIC) as setup:
            response = await setup.post(path="/v1/chat/completions")
            error = response.events[-1] if response.status == 200 else response.document
            assert "Full" in error["error"]["message"]

    run(test())


def test_an_error_in_the_first_record_is_a_status():
    async def play(received, wire):
        del received
        await wire.head()
        await wire.send(b'{"error": "no memory"}\n')
        await wire.end()

    async def test():
        async with proxied(play) as setup:
            response = await setup.post()
            assert (response.status, response.document["type"]) == (502, "error")
            assert "no memory" in response.document["error"]["message"]

    run(test())


@pytest.mark.parametrize("alive", [b"", b"\n"], ids=["silent", "its own signs of life"])
def test_the_client_gets_pings_while_the_upstream_is_silent(alive):
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
        async with proxied(play, bounds=ProxyBounds(ping=0.05)) as setup:
            response = await setup.post()
            assert (response.types.count("ping") > 2, response.text, response.types[-1]) == (
                True,
                "Hello",
                "message_stop",
            )

    run(test())


@pytest.mark.parametrize("body", [REQUEST, NOT_STREAMED], ids=["stream", "at-once"])
@pytest.mark.parametrize("spoken", [0, 1], ids=["before the head", "in the body"])
def test_a_client_that_disconnects_ends_the_upstream_request(spoken, body):
    requested, gone = asyncio.Event(), asyncio.Event()

    async def play(received, wire):
        del received
        if spoken:
            await wire.head()
            await wire.send(record(content="Hello"))
        requested.set()
        await wire.until_gone()
        gone.set()

    async def test():
        async with proxied(play) as setup:
            _, writer = await setup.connect(body)
            await requested.wait()
            writer.close()
            await gone.wait()
            await setup.logged.wait()
            assert setup.log[-1].endswith("the client disconnected")

    run(test())


class Flood:
    """Sends text as long as somebody reads it."""

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
        """Return the number of bytes sent, once nothing was read for a while."""
        before = -1
        while self.wire is None or before != self.wire.written:
            before = self.wire.written if self.wire else -1
            await asyncio.sleep(0.2)
        return before


def test_a_client_that_does_not_read_stops_the_upstream_from_sending():
    flood = Flood()

    async def test():
        async with proxied(flood) as setup:
            _, writer = await setup.connect()
            assert await flood.stopped() < 24 * 1024 * 1024  # the capacity of four system buffers
            writer.transport.abort()
            await setup.upstream.closed()

    run(test())


@pytest.mark.parametrize(
    ("play", "body"), [(Flood(), REQUEST), (saying("x" * 8_000_000), NOT_STREAMED)], ids=["stream", "at-once"]
)
def test_a_client_that_never_reads_is_disconnected(play, body):
    async def test():
        async with proxied(play, bounds=ProxyBounds(stalled=0.2)) as setup:
            _, writer = await setup.connect(body)
            await setup.logged.wait()
            assert "read nothing" in setup.log[-1]
            await setup.upstream.closed()
            writer.close()

    run(test())


def test_a_slow_client_gets_everything():
    async def test():
        async with proxied(Flood(most=8_000_000)) as setup:
            reader, writer = await setup.connect()
            size, rest = 0, b""
            while not rest.endswith(b"\r\n0\r\n\r\n"):
                data = await reader.read(65536)
                rest = (rest + data)[-16:]
                size += len(data)
            writer.close()
            assert size > 8_000_000

    run(test())


def test_the_number_of_concurrent_requests_is_limited():
    begun, go = asyncio.Semaphore(0), asyncio.Event()

    async def play(received, wire):
        begun.release()
        await go.wait()
        await saying("x")(received, wire)

    async def test():
        async with proxied(play, bounds=ProxyBounds(streams=2)) as setup:
            tasks = [asyncio.ensure_future(setup.post()) for _ in range(2)]
            for _ in tasks:
                await begun.acquire()
            refused = await setup.post()
            assert (refused.status, refused.document["error"]["type"]) == (529, "overloaded_error")
            go.set()
            assert [(await task).text for task in tasks] == ["x", "x"]
            assert (await setup.post()).text == "x"

    run(test())


def test_a_stop_lets_running_answers_finish():
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
        async with proxied(play) as setup:
            answer = asyncio.ensure_future(setup.post())
            await begun.wait()
            stopping = asyncio.ensure_future(setup.proxy.stop())
            await asyncio.sleep(0)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", urlsplit(setup.proxy.url).port)
            go.set()
            assert ((await answer).text, (await answer).types[-1]) == ("Hello", "message_stop")
            await stopping

    run(test())


@pytest.mark.parametrize("body", [REQUEST, NOT_STREAMED], ids=["stream", "at-once"])
def test_a_stop_ends_unfinished_answers_with_an_error(body):
    begun = asyncio.Event()

    async def play(received, wire):
        if received.body["stream"]:
            await wire.head()
            await wire.send(record(content="Hel"))
        begun.set()
        await wire.until_gone()

    async def test():
        async with proxied(play, bounds=ProxyBounds(grace=0.1)) as setup:
            answer = asyncio.ensure_future(setup.post(body))
            await begun.wait()
            await setup.proxy.stop()
            response = await answer
            if body["stream"] and response.status == 200:
                assert response.types[-1] == "error"
                assert "stopping" in response.events[-1]["error"]["message"]
            else:
                assert (response.status, response.document["error"]["type"]) == (529, "overloaded_error")
            await setup.upstream.closed()

    run(test())


def test_a_stopping_proxy_rejects_requests_on_open_connections():
    async def play(received, wire):
        if received.body["stream"]:
            await wire.until_gone()
        await saying("x")(received, wire)

    async def test():
        async with proxied(play, bounds=ProxyBounds(grace=0.5)) as setup:
            hanging = asyncio.ensure_future(setup.post())
            assert (await setup.post(NOT_STREAMED)).status == 200
            stopping = asyncio.ensure_future(setup.proxy.stop())
            await asyncio.sleep(0)
            again = await setup.post(NOT_STREAMED)  # on the first request's connection
            assert (again.status, again.headers["connection"]) == (529, "close")
            await stopping
            assert (await hanging).status == 529

    run(test())


def test_a_bug_in_the_proxy_is_reported_and_the_next_request_is_served(monkeypatch):
    from streamconform_proxy import server

    async def test():
        async with proxied(saying("x")) as setup:
            with monkeypatch.context() as broken:
                broken.setattr(server, "translate_request", lambda *_: 1 / 0)
                response = await setup.post()
            assert (response.status, response.document["error"]["type"]) == (500, "api_error")
            assert "ZeroDivisionError" in "".join(setup.log)
            assert (await setup.post()).text == "x"

    run(test())
