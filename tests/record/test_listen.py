"""`conform record listen`: a proxy between real clients and real servers, on real sockets."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from streamconform.apis import APIS
from streamconform.suite import cassettes
from streamconform_capture.record.overheard import detect_api

from ..cli import forked
from .anthropic import answer
from .server import HEAD, Reset, Wait, chunk, document, replying, serving, stream

REQUEST = {"model": "m", "max_tokens": 16, "stream": True, "messages": [{"role": "user", "content": "Hi."}]}
OK = stream(answer("Hi, ", "you."))
KEY = "a-key-of-the-client-0123456789"
MESSAGES = "/v1/messages"


def connect(url):
    """Return a connection that closes at the end of a `with`."""
    return closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=20))


@dataclass
class Listening:
    """A running `conform record listen`."""

    folder: Path
    process: forked.Started
    url: str

    def post(self, body=REQUEST, path=MESSAGES, **headers):
        """Return the status and the body that a client gets."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        with connect(self.url) as connection:
            connection.request(
                "POST", path, text, {"x-api-key": KEY, "content-type": "application/json"} | headers
            )
            got = connection.getresponse()
            return got.status, got.read()

    def stop(self):
        """Return the exit code and the output."""
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=30)
        return self.process.returncode, err

    def load(self, name="overheard-1", api="anthropic-messages"):
        return cassettes.load(self.folder / "cassettes", api, name)

    def wait_for(self, name, api="anthropic-messages"):
        """Return the cassette once it is written."""
        end = time.monotonic() + 20
        while not (self.folder / "specs" / api).exists() and time.monotonic() < end:
            time.sleep(0.01)
        return self.load(name, api)


@contextmanager
def listening(folder, upstream, *words, env=None):
    """Yield a running `conform record listen` in front of `upstream`."""
    command = ("record", "listen", "--upstream", upstream, *words)
    env = {**os.environ, **(env or {})}
    with forked.Started("streamconform", command, cwd=folder, env=env) as process:
        yield Listening(folder, process, process.stdout.readline().split()[0])


def conform(folder, *words, env=None):
    """Run `conform WORDS` in `folder`, and return the result."""
    return forked.run("streamconform", words, cwd=folder, env={**os.environ, **(env or {})})


def run(folder, upstream, *words, env=None):
    """Run `conform record listen … WORDS`, and return the result."""
    return conform(folder, "record", "listen", "--upstream", upstream, *words, env=env)


def test_a_stream_passes_unchanged_and_becomes_a_cassette_and_a_draft(tmp_path):
    with serving(*OK) as server, listening(tmp_path, server.base_url) as proxy:
        assert proxy.post() == (200, answer("Hi, ", "you."))
        code, err = proxy.stop()
        head = server.requests[0].partition(b"\r\n\r\n")[0]
    assert code == 0, err
    assert f"x-api-key: {KEY}".encode() in head
    assert f"Host: {urlsplit(server.base_url).netloc}".encode() in head
    kept = proxy.load()
    assert kept.body == answer("Hi, ", "you.")
    assert kept.request.body == REQUEST
    assert len(kept.marks) == len(OK) - 2
    assert kept.provenance.model == "m"
    assert "anthropic-messages/overheard-1: HTTP 200" in err
    assert "1 exchange recorded" in err
    done = conform(tmp_path, "run", "--specs", "specs", "--cassettes", "cassettes")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_piece_is_forwarded_when_it_arrives_and_marked_with_its_time(tmp_path):
    first, second = answer("Hi")[:50], answer("Hi")[50:]
    steps = (HEAD + b"\r\n", chunk(first), Wait(0.5), chunk(second), b"0\r\n\r\n")
    with serving(*steps) as server, listening(tmp_path, server.base_url) as proxy:
        with connect(proxy.url) as connection:
            connection.request("POST", MESSAGES, json.dumps(REQUEST), {"content-type": "application/json"})
            got = connection.getresponse()
            assert got.read1(1000) == first
            early = time.monotonic()
            assert got.read() == second
            assert time.monotonic() - early > 0.25
        proxy.stop()
    (at_first, at_second) = proxy.load().marks
    assert (at_first.offset, at_second.offset) == (0, 50)
    assert at_second.ms - at_first.ms >= 400


def test_exchanges_at_the_same_time_are_kept_apart(tmp_path):
    texts = [f"Number {number}" for number in range(8)]

    def reply(request):
        text = json.loads(request.partition(b"\r\n\r\n")[2])["messages"][0]["content"]
        return stream(answer(text))

    with replying(*[reply] * len(texts)) as server, listening(tmp_path, server.base_url) as proxy:
        got = {}

        def ask(text):
            got[text] = proxy.post(REQUEST | {"messages": [{"role": "user", "content": text}]})[1]

        threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        code, err = proxy.stop()
    assert code == 0, err
    assert got == {text: answer(text) for text in texts}
    kept = [proxy.load(f"overheard-{number}") for number in range(1, 9)]
    assert {each.request.body["messages"][0]["content"]: each.body for each in kept} == got


def test_several_requests_on_one_connection_are_several_cassettes(tmp_path):
    with (
        replying(*[lambda _: OK] * 2) as server,
        listening(tmp_path, server.base_url) as proxy,
    ):
        with connect(proxy.url) as connection:
            for _ in range(2):
                connection.request(
                    "POST", MESSAGES, json.dumps(REQUEST), {"content-type": "application/json"}
                )
                assert connection.getresponse().read() == answer("Hi, ", "you.")
        assert proxy.stop()[0] == 0
    assert proxy.load("overheard-1").body == proxy.load("overheard-2").body


def test_the_key_of_the_client_is_never_stored_and_never_printed(tmp_path):
    body = answer(f"You sent {KEY}.")
    with serving(*stream(body)) as server, listening(tmp_path, server.base_url) as proxy:
        assert proxy.post() == (200, body)
        code, err = proxy.stop()
    assert KEY not in err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    assert proxy.load().body == body.replace(KEY.encode(), b"x" * len(KEY))
    assert code == 0


def test_a_key_that_the_answer_spells_in_pieces_is_not_written_and_the_exit_code_says_so(tmp_path):
    with serving(*stream(answer(KEY[:9], KEY[9:]))) as server, listening(tmp_path, server.base_url) as proxy:
        proxy.post()
        code, err = proxy.stop()
    assert code == 2
    assert "not saved: POST /v1/messages: nothing was written" in err
    assert "0 exchanges recorded, 1 not saved" in err
    assert KEY not in err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(("end", "cut"), [((Reset(),), "reset"), ((), "closed")])
def test_a_stream_that_the_server_breaks_off_is_kept_as_far_as_it_came(tmp_path, end, cut):
    part = answer("Hi")[:60]
    steps = (HEAD + b"\r\n", chunk(part), Wait(0.2), *end)
    with serving(*steps) as server, listening(tmp_path, server.base_url) as proxy:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            proxy.post()
        code, err = proxy.stop()
    assert code == 0, err
    assert proxy.load().body == part
    assert f": {cut}." in proxy.load().provenance.note
    assert f"cut: {cut}" in err


def test_a_client_that_leaves_ends_the_request_and_loses_nothing_that_had_arrived(tmp_path):
    part = answer("Hi")[:60]
    steps = (HEAD + b"\r\n", chunk(part), Wait(20))
    with serving(*steps) as server, listening(tmp_path, server.base_url) as proxy:
        started = time.monotonic()
        address = urlsplit(proxy.url)
        with socket.create_connection((address.hostname, address.port), 20) as client:
            body = json.dumps(REQUEST).encode()
            client.sendall(
                b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n%b"
                % (MESSAGES.encode(), len(body), body)
            )
            got = b""
            while part not in got:
                got += client.recv(1000)
        kept = proxy.wait_for("overheard-1")
        assert time.monotonic() - started < 15  # without waiting for the server, which stays silent for 20 s
        proxy.stop()
    assert kept.body == part
    assert "client left" in kept.provenance.note


def post_in_vain(proxy):
    with suppress(OSError, http.client.HTTPException):
        proxy.post()


def test_what_had_arrived_is_kept_when_the_recorder_is_stopped(tmp_path):
    part = answer("Hi")[:60]
    with (
        serving(HEAD + b"\r\n", chunk(part), Wait(20)) as server,
        listening(tmp_path, server.base_url) as proxy,
    ):
        thread = threading.Thread(target=post_in_vain, args=(proxy,))
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        time.sleep(0.3)
        code, err = proxy.stop()
        thread.join()
    assert code == 0, err
    assert proxy.load().body == part


def test_an_answer_without_streaming_becomes_a_case_of_its_kind(tmp_path):
    whole = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": "Hi, you."}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }  # fmt: skip
    reply = document(b"200 OK", json.dumps(whole).encode())
    with serving(*reply) as server, listening(tmp_path, server.base_url) as proxy:
        proxy.post({key: value for key, value in REQUEST.items() if key != "stream"})
        assert proxy.stop()[0] == 0
    spec = (tmp_path / "specs" / "anthropic-messages" / "documents-recorded.yaml").read_text("utf-8")
    assert "kind: document" in spec
    assert "text: Hi, you." in spec
    done = conform(tmp_path, "run", "--specs", "specs", "--cassettes", "cassettes")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_request_without_streaming_becomes_the_twin_of_the_stream(tmp_path):
    whole = b'{"id":"msg_1","type":"message","content":[{"type":"text","text":"Hi, you."}]}'
    replies = (lambda _: OK, lambda _: document(b"200 OK", whole), lambda _: document(b"200 OK", whole))
    with replying(*replies) as server, listening(tmp_path, server.base_url) as proxy:
        proxy.post()
        proxy.wait_for("overheard-1")
        proxy.post(REQUEST | {"stream": False})
        proxy.post(REQUEST | {"stream": False, "max_tokens": 17})
        code, err = proxy.stop()
    assert code == 0, err
    assert proxy.load().twin == whole
    assert proxy.load().body == answer("Hi, ", "you.")
    assert "overheard-1: HTTP 200, 77 bytes, the stream's twin" in err
    assert proxy.load("overheard-2").twin is None  # of another request
    assert conform(tmp_path, "lint", "--specs", "specs", "--cassettes", "cassettes").returncode == 0


CLIENT = """
import os, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
body = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi."}]}'
request = urllib.request.Request(url, body, {"content-type": "application/json"})
print(urllib.request.urlopen(request).read().decode())
raise SystemExit(int(os.environ.get("CODE", "0")))
"""


SLOW_SERVER = """
import socket, sys, time
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    connection.recv(65536)
    connection.sendall(bytes.fromhex(sys.argv[1]))
    time.sleep(60)
"""


def test_a_killed_server_leaves_what_it_had_sent(tmp_path):
    part = answer("Hi")[:60]
    wire = HEAD + b"\r\n" + chunk(part)
    with subprocess.Popen(
        (sys.executable, "-c", SLOW_SERVER, wire.hex()), stdout=subprocess.PIPE, text=True
    ) as server:
        port = int(server.stdout.readline())
        with listening(tmp_path, f"http://127.0.0.1:{port}") as proxy, connect(proxy.url) as connection:
            connection.request("POST", MESSAGES, json.dumps(REQUEST), {"content-type": "application/json"})
            got = connection.getresponse()
            assert got.read1(1000) == part
            server.kill()
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                got.read()
            code, err = proxy.stop()
    assert code == 0, err
    assert proxy.load().body == part


def test_a_killed_client_leaves_what_had_arrived(tmp_path):
    part = answer("Hi")[:60]
    reading = (
        "urllib.request.urlopen(request).read1(10)\nprint('got', flush=True)\nimport time; time.sleep(60)"
    )
    program = CLIENT.replace("print(urllib.request.urlopen(request).read().decode())", reading)
    with (
        serving(HEAD + b"\r\n", chunk(part), Wait(20)) as server,
        listening(tmp_path, server.base_url) as proxy,
        subprocess.Popen(
            (sys.executable, "-c", program),
            env={**os.environ, "ANTHROPIC_BASE_URL": proxy.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as client,
    ):
        assert client.stdout.readline() == b"got\n"
        client.kill()
        assert proxy.wait_for("overheard-1").body == part
        assert proxy.stop()[0] == 0


def test_an_error_is_kept_and_other_requests_only_pass(tmp_path):
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    replies = (lambda _: document(b"529 Overloaded", error), lambda _: document(b"200 OK", b'{"data":[]}'))
    with replying(*replies) as server, listening(tmp_path, server.base_url) as proxy:
        assert proxy.post() == (529, error)
        with connect(proxy.url) as connection:
            connection.request("GET", "/v1/models?limit=3")
            assert connection.getresponse().read() == b'{"data":[]}'
        code, err = proxy.stop()
        assert server.requests[1].startswith(b"GET /v1/models?limit=3 HTTP/1.1\r\n")
    assert code == 0, err
    assert proxy.load().status == 529
    assert "not saved: GET /v1/models: HTTP 200; not an answer from a known API" in err


def test_a_server_that_is_not_there_is_answered_with_502(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with listening(tmp_path, f"http://127.0.0.1:{port}") as proxy:
        status, body = proxy.post()
        code, err = proxy.stop()
    assert status == 502
    assert b"cannot connect" in body
    assert "not saved: POST /v1/messages: cannot connect" in err
    assert code == 2  # nothing was recorded


@pytest.mark.parametrize("code", [0, 7])
def test_a_command_gets_the_addresses_and_its_exit_code_and_output_are_kept(tmp_path, code):
    with serving(*OK) as server:
        done = run(tmp_path, server.base_url, "--", sys.executable, "-c", CLIENT, env={"CODE": str(code)})
    assert done.returncode == code, done.stderr
    assert done.stdout == answer("Hi, ", "you.").decode() + "\n"
    assert "1 exchange recorded" in done.stderr


def test_a_command_that_asks_nothing_fails(tmp_path):
    done = run(tmp_path, "http://127.0.0.1:9", "--", sys.executable, "-c", "")
    assert done.returncode == 2
    assert "0 exchanges recorded" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("listen", "--address", "127.0.0.1", "--upstream", "http://x"), "expected HOST:PORT"),
        (("listen", "--address", "0.0.0.0:1", "--upstream", "http://x"), "only this machine may connect"),
        (("listen",), "Missing option '--upstream'"),
        (("listen", "--upstream", "http://x", "--twin"), "No such option '--twin'"),
        (("--twin", "listen", "--upstream", "http://x"), "`--twin` has no effect before `listen`"),
        (("listen", "--upstream", "ftp://x"), "--upstream is not an http, https, ws or wss URL"),
        (("listen", "--upstream", "http://x", "--", "no-such-program"), "cannot run"),
        (("--", "ls"), "no command `ls`"),
        ((), "missing option `--api`"),
    ],
)
def test_a_wrong_use_is_explained_in_one_line(tmp_path, words, message):
    done = conform(tmp_path, "record", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_every_api_has_a_variable_for_its_address_and_a_path_that_is_found():
    for name, api in APIS.items():
        assert api.key.addresses, name
        path = api.endpoints.usual.replace("{model}", "some-model").replace(
            "{model+}", "anthropic.some-model"
        )
        assert detect_api(path + "?alt=sse") == name
    assert detect_api("/v1/embeddings") is None
