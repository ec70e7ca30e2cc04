"""The replay server over a WebSocket: the frames of trials, many answers per connection, hostile clients."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

from streamconform.adapters.connect import connect as connect_adapter
from streamconform.model.case import RoundTripCase
from streamconform.model.trial import DELIVERY_SETS, WEBSOCKET, find_transport
from streamconform.replay.server import ReplayServer
from streamconform.run.plan import Settings
from streamconform.run.session import SILENT, RunRequest, execute_run
from streamconform.suite.expand import expand, make_trial

from .. import bundled_suite
from . import serving
from .sockets import SECONDS, connect, post, read, trial

HERE = Path(__file__).parent
API = "openai-responses"
PATH = "/v1/responses"
PLAIN = f"{API}/text/one-message"
OVER_WEBSOCKET = tuple(name for name in DELIVERY_SETS["standard"] if find_transport(name) == WEBSOCKET)
CREATE = TextMessage(data='{"type": "response.create", "model": "m", "input": "Hi"}')


def trial_of(id_, name=WEBSOCKET):
    return make_trial(next(case for case in bundled_suite.streams() if case.id == id_), name, 0)


@dataclass
class Heard:
    """What a client got: the names of the events, the other frames, and how the connection ended."""

    events: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    pongs: int = 0
    code: int | None = None
    status: int = 101
    end: str = "open"
    """`eof`, or `open` if the server said nothing more."""


async def listen(server, exchange, sent, *, path=PATH, answers=1, raw=b"", answered=None):
    """Send messages or bytes after a handshake, and listen until the end or to the last answer.

    `answered` is set after each answer.
    """
    reader, writer = await connect(server)
    client = WSConnection(ConnectionType.CLIENT)
    host, _, prefix = exchange.base_url.removeprefix("ws://").removeprefix("http://").partition("/")
    writer.write(client.send(Request(host=host, target=f"/{prefix}{path}")))
    heard, text, ends = Heard(), "", 0
    try:
        async with asyncio.timeout(SECONDS):
            while heard.end == "open" and ends < answers:
                data = await reader.read(65536)
                heard.end = "open" if data else "eof"
                client.receive_data(data or None)
                for event in client.events():
                    match event:
                        case AcceptConnection():
                            writer.write(b"".join(map(client.send, sent)) + raw)
                        case RejectConnection(status_code=status):
                            heard.status = status
                            return heard
                        case TextMessage(data=part, message_finished=is_whole):
                            text += part
                            if is_whole:
                                message, text = json.loads(text), ""
                                heard.events.append(message["type"])
                                if "error" in message:
                                    heard.errors.append(message["error"]["message"])
                                if message["type"] == "response.completed":
                                    ends += 1
                                    if answered is not None:
                                        answered.set()
                        case Pong():
                            heard.pongs += 1
                        case CloseConnection(code=code) if data:
                            heard.code = int(code)
                            if client.state is ConnectionState.REMOTE_CLOSING:
                                writer.write(client.send(event.response()))
    finally:
        writer.transport.abort()
    return heard


def talk(of, *sent: Message, **more):
    """Return what a client heard, and the exchange."""

    async def serve():
        async with ReplayServer() as server:
            with server.exchange(of) as exchange:
                return await listen(server, exchange, sent, **more), exchange

    return asyncio.run(serve())


def run(folder, what, adapter):
    shutil.copy(HERE / "over_websocket.py", folder)
    order = RunRequest(
        connections=(connect_adapter(f"python:over_websocket:{adapter}"),),
        trials=tuple(what),
        settings=Settings(workers=1, timeout=20),
        selection={},
    )
    return execute_run(order, folder / "results.jsonl", SILENT)


def sampled_cases():
    cases = [case for case in bundled_suite.cases() if case.api == API]
    only = [case for case in cases if "websocket" in case.tags]
    sampled = bundled_suite.sample([case for case in bundled_suite.streams() if case.api == API])
    return list({case.id: case for case in (*sampled, *only)}.values())


@pytest.mark.parametrize("adapter", ["adapter", "lazy"])
def test_clients_of_websockets_pass_also_if_they_answer_pings_late_and_leave_without_a_close_frame(
    tmp_path, monkeypatch, adapter
):
    monkeypatch.chdir(tmp_path)
    made = [
        trial
        for trial in expand(sampled_cases(), OVER_WEBSOCKET, "http", 0, "one")
        if trial.transport == WEBSOCKET
    ]
    kinds = {trial.delivery.partition(".")[0] for trial in made}
    assert {*OVER_WEBSOCKET, "websocket-cut", "websocket-close", "websocket-error"} == kinds
    assert any(isinstance(trial.case, RoundTripCase) for trial in made)
    finished = run(tmp_path, made, adapter)
    reported = {result.id: (result.verdict, result.reason) for result in finished.results.trials}
    assert {id_: each for id_, each in reported.items() if each[0] != "pass"} == {}
    assert len(reported) == len(made)


def test_a_message_is_the_body_of_a_request_and_the_connection_stays_open_after_the_answer():
    heard, exchange = talk(trial_of(PLAIN), CREATE)
    assert exchange.base_url.startswith("ws://127.0.0.1:")
    assert (heard.events[0], heard.events[-1]) == ("response.created", "response.completed")
    assert (heard.end, heard.code, exchange.complaint) == ("open", None, None)
    (sent,) = exchange.sent_requests
    assert (sent["body"], sent["path"]) == ({"model": "m", "input": "Hi"}, PATH)


@pytest.mark.parametrize("path", [PATH, "/responses"])
def test_a_connection_answers_every_request(path):
    heard, exchange = talk(trial_of(PLAIN), CREATE, CREATE, path=path, answers=2)
    assert heard.events.count("response.completed") == 2
    assert len(exchange.model_requests) == 2


def test_fragments_of_a_client_and_its_pings_are_read():
    parts = [
        TextMessage(data=part, message_finished=part[-1] == "}")
        for part in (CREATE.data[:9], CREATE.data[9:])
    ]
    heard, exchange = talk(trial_of(PLAIN), parts[0], Ping(payload=b"there?"), parts[1])
    assert heard.pongs == 1
    assert exchange.sent_requests[0]["body"] == {"model": "m", "input": "Hi"}


def test_a_cut_ends_the_connection_without_a_close_frame_and_a_close_has_its_code():
    for kind, code in (("websocket-cut", None), ("websocket-close", 1000), ("websocket-error", 1011)):
        heard, _ = talk(trial_of(PLAIN, kind), CREATE)
        assert (heard.end, heard.code) == ("eof", code), kind
        assert "response.completed" not in heard.events, kind


def test_each_answer_of_a_conversation_follows_its_request_on_one_connection():
    (case,) = (each for each in bundled_suite.cases() if each.id == f"{API}/replays-websocket/one-connection")
    (made,) = expand([case], (WEBSOCKET,), "http", 0)
    heard, exchange = talk(made, CREATE, CREATE, CREATE, answers=3)
    assert heard.events.count("response.completed") == 3
    assert len(exchange.sent_requests) == 3


def test_a_request_over_the_other_transport_is_told_what_is_expected():
    async def over_http():
        async with ReplayServer() as server:
            with server.exchange(trial_of(PLAIN)) as exchange:
                reader, writer = await connect(server)
                writer.write(post(exchange.base_url.removeprefix(server.url.replace("http", "ws", 1)) + PATH))
                got = await read(reader, until=b"}\n")
                writer.close()
                return got, exchange.complaint

    got, complaint = asyncio.run(over_http())
    assert got.status == 404
    assert "expected a WebSocket to `BASE_URL/" in complaint
    heard, exchange = talk(trial(), CREATE)
    assert heard.status == 404
    assert "the server got `GET " in exchange.complaint
    heard, exchange = talk(trial_of(PLAIN), CREATE, path="/v1/chat/completions")
    assert heard.status == 404
    assert "expected a WebSocket" in exchange.complaint


@pytest.mark.parametrize(
    ("sent", "raw", "code", "says"),
    [
        ((BytesMessage(data=b"{}"),), b"", 1008, "binary"),
        ((), b"\x81\x02{}", 1002, "no client may send"),
        (
            (TextMessage(data="{"), TextMessage(data='{"type": "response.cancel"}')),
            b"",
            None,
            "requests no answer",
        ),
    ],
)
def test_what_no_client_should_send_is_reported(sent, raw, code, says):
    end = (CloseConnection(code=1000),) if code is None else ()
    heard, exchange = talk(trial_of(PLAIN), *sent, *end, raw=raw)
    assert (heard.events, heard.code) == ([], code or 1000)
    assert says in exchange.complaint


def test_a_handshake_without_a_key_is_refused():
    async def shake():
        async with ReplayServer() as server:
            with server.exchange(trial_of(PLAIN)) as exchange:
                reader, writer = await connect(server)
                target = exchange.base_url.removeprefix(server.url.replace("http", "ws", 1)) + PATH
                head = (
                    f"GET {target} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
                )
                writer.write(head.encode())
                got = await read(reader)
                writer.close()
                return got, exchange.complaint

    got, complaint = asyncio.run(shake())
    assert (got.status, got.end) == (400, "eof")
    assert "a handshake that no client may send" in complaint


def test_a_client_that_requests_without_end_gets_an_error_and_a_close():
    heard, exchange = talk(trial_of(PLAIN), *[CREATE] * 17, answers=17)
    assert (heard.events.count("response.completed"), heard.code) == (16, 1008)
    assert "more than 16 requests" in heard.errors[0]
    assert exchange.has_too_many


def test_a_connection_ends_with_its_trial():
    async def wait():
        async with ReplayServer() as server:
            with server.exchange(trial_of(PLAIN)) as exchange:
                answered = asyncio.Event()
                waiting = listen(server, exchange, (CREATE,), answers=2, answered=answered)
                listening = asyncio.ensure_future(waiting)
                async with asyncio.timeout(SECONDS):
                    await answered.wait()
            return await listening

    heard = asyncio.run(wait())
    assert (heard.end, heard.code) == ("eof", 1001)


def test_the_server_for_clients_serves_every_stream_of_responses_over_both_transports(tmp_path):
    with serving.serve(
        tmp_path, "-k", f"{API}/text/one-message", "-k", f"{API}/websocket/pings-between-messages"
    ) as served:
        plain, only = served.urls
        assert (plain.partition(":")[0], only.partition(":")[0]) == ("http", "ws")

        async def ask(url):
            host, _, prefix = url.partition("//")[2].partition("/")

            @dataclass
            class There:
                url: str = f"http://{host}"
                base_url: str = f"http://{host}/{prefix}"

            return await listen(There(), There(), (CREATE,))

        for url in (plain, only):
            heard = asyncio.run(ask(url))
            assert heard.events[-1] == "response.completed"
    assert served.log.count(f"GET {PATH}") == 2
