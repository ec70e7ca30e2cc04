"""`conform serve` and `conform explain --outcome` as a user sees them, and the page about them."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import urllib.parse

import httpx
import pytest

from streamconform.cli.serve import LIMITS
from streamconform_dev.docs.blocks import BLOCK, describe_outdated
from streamconform_dev.docs.http import PAGE, ask_server, read_files

from ..cli.project import Project
from ..harness import builders
from .serving import serve

FILES = read_files()
(CHECK,) = BLOCK.finditer(PAGE.read_text("utf-8"))

CALLS = "anthropic-messages/tool-use/interleaved-fragments"
OUTCOME = {
    "status": "complete",
    "stop": {"reason": "stop"},
    "content": [{"type": "text", "text": "Grüß dich 🌍"}],
}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


SUITE = """\
spec: 1
api: anthropic-messages
topic: mine
cases:
  - id: small
    title: A small answer
    cassette: small
    expect: {status: complete, stop: stop, content: [{text: "Grüß dich 🌍"}]}
"""


@pytest.fixture
def own(project):
    """A project with one case, so that loading takes no time."""
    from streamconform.suite import cassettes

    cassettes.save(project.folder / "cassettes", builders.cassette())
    return project.with_file("specs/anthropic-messages/mine.yaml", SUITE)


def get(url: str) -> httpx.Response:
    return httpx.post(url, json={"stream": True}, trust_env=False, timeout=20)


def test_the_script_on_the_page_meets_the_server_and_its_outcome_is_judged(project):
    outcome, line, log = ask_server(project.folder, FILES["ask.py"])
    assert line.endswith(f"/x/{CALLS}  POST /v1/messages")
    assert log == f"POST /v1/messages  15 bytes  200  {CALLS}\n"
    ran = project.with_file("outcome.json", outcome).run(*shlex.split(CHECK["command"])[1:])
    assert (ran.code, ran.out) == (1, CHECK["text"]), describe_outdated("http")


def test_the_adapter_on_the_page_judges_a_real_client(own):
    name = "mypkg/conform.py"
    project = own.with_file(name, FILES[name]).with_file("mypkg/__init__.py", YOURS)
    ran = project.run("run", "--impl", "mypkg", "--specs", "specs", "-v")
    assert ran.code == 0, ran.out + ran.err
    assert "mypkg (python, http)" in ran.out
    assert ran.last.startswith("No failures: 15 passed")


def test_a_case_is_served_in_any_delivery_and_with_any_fault(own):
    own.write()
    body = builders.cassette().body
    with serve(own.folder, "--specs", "specs", end=signal.SIGTERM) as served:
        url = served.urls[0]
        assert get(f"{url}/v1/messages").content == body
        assert get(f"{url}@gzip/v1/messages").content == body
        assert get(f"{url}@gzip/v1/messages").headers["content-encoding"] == "gzip"
        assert get(f"{url}%40whole/messages").content == body
        assert get(f"{url}%40%1b%5b31m/v1/messages").status_code == 404
        assert get(f"{url}@crlf/v1/messages").content == body.replace(b"\n", b"\r\n")
        with pytest.raises(httpx.ReadError):
            get(f"{url}@reset/v1/messages")
        with (
            pytest.raises(httpx.ReadTimeout),
            httpx.Client(trust_env=False, timeout=0.3) as client,
        ):
            client.post(f"{url}@stall/v1/messages", json={"stream": True})
        unknown = get(f"{url}@reset.999/v1/messages")
        nowhere = get(f"{url}-2/v1/messages")
        wrong = get(f"{url}/v1/complete")
    assert served.code == 0
    assert "has no fault `reset.999`; available:" in unknown.json()["error"]["message"]
    assert "is served here" in nowhere.json()["error"]["message"]
    assert wrong.json()["error"]["expected"] == "`POST BASE_URL/v1/messages`"
    assert [response.status_code for response in (unknown, nowhere, wrong)] == [404] * 3
    log = served.log.splitlines()
    assert "\x1b" not in served.log
    assert log[0] == "POST /v1/messages  15 bytes  200  anthropic-messages/mine/small"
    assert log[-1].endswith("expected `POST BASE_URL/v1/messages`")


def test_six_hundred_connections_stay_open(own):
    own.write()
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(serve(own.folder, "--specs", "specs"))
        address = urllib.parse.urlsplit(served.urls[0])
        sockets = [
            stack.enter_context(socket.create_connection((address.hostname, address.port), timeout=20))
            for _ in range(600)
        ]
        request = f"POST {address.path}/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n"
        for each in (sockets[0], sockets[-1]):
            each.sendall(request.encode() + b'{"stream":true}')
            assert each.recv(100).startswith(b"HTTP/1.1 200 ")


def test_the_root_lists_every_case_with_its_base_url_and_runs_nothing_that_a_title_holds(own):
    hostile = own.with_file(
        "specs/anthropic-messages/mine.yaml", SUITE.replace("A small answer", "'<script>alert(1)</script>'")
    )
    hostile.write()
    with serve(hostile.folder, "--specs", "specs") as served:
        base = served.urls[0]
        root = base.partition("/x/")[0]
        page = httpx.get(f"{root}/", trust_env=False, timeout=20)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert f"<code>{base}</code>" in page.text
    assert "<code>POST /v1/messages</code>" in page.text
    assert "<script" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text


def test_a_port_that_is_taken_is_the_users_mistake(own):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = own.run("serve", "--specs", "specs", "--port", str(port))
    assert ran.code == 2
    assert ran.err.startswith(f"error: cannot listen on `--port {port}`: ")
    assert "Traceback" not in ran.err


@pytest.mark.linux
def test_a_low_limit_of_open_files_is_raised_for_many_connections(own):
    """In a new Python, because the limit is inherited from the process that starts it."""
    command = f"ulimit -Sn 256; exec {sys.executable} -m streamconform serve -k {CALLS}@as-is"
    with subprocess.Popen(("sh", "-c", command), cwd=own.folder, stderr=subprocess.PIPE) as process:
        ready = process.stderr.readline()
        raised, _ = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        process.terminate()
    assert b"stop with Ctrl-C" in ready
    assert raised > LIMITS.connections


def test_nothing_to_serve_is_the_users_mistake(own):
    ran = own.run("serve", "--specs", "specs", "-k", "telegraph")
    assert ran.code == 2
    assert "matches no trial" in ran.err


def check(own, reported, *words, name="outcome.json"):
    given = reported if isinstance(reported, str) else json.dumps(reported)
    return own.with_file(name, given).run("explain", "small", "--outcome", name, "--specs", "specs", *words)


def test_an_outcome_as_expected_passes(own):
    ran = check(own, OUTCOME)
    assert (ran.code, ran.last) == (0, "verdict: pass")
    reported = json.loads(check(own, OUTCOME, "--format", "json").out)
    assert (reported["id"], reported["verdict"], reported["checks"]) == (
        "anthropic-messages/mine/small@as-is",
        "pass",
        [],
    )


def test_an_outcome_that_differs_fails_and_the_check_says_where(own):
    wrong = {**OUTCOME, "stop": {"reason": "length"}}
    ran = check(own, wrong)
    assert ran.code == 1
    assert re.search(r'fail stop.reason +expected "stop", got "length"', ran.out)
    checks = json.loads(check(own, wrong, "--format", "json").out)["checks"]
    assert [check["path"] for check in checks] == ["stop.reason"]


def test_an_exception_is_shown_under_the_failed_check(own):
    ran = check(own, {"raised": {"type": "lib.Error", "message": "no", "where": "lib/read.py:3 in read"}})
    assert ran.code == 1
    assert "raised lib.Error: no (lib/read.py:3 in read)\n" in ran.out


def test_events_are_judged_where_they_are_there(own):
    reported = {"outcome": OUTCOME, "events": [*builders.TEXT_EVENTS[:-1]]}
    ran = check(own, reported)
    assert ran.code == 1
    assert "invariant.one-terminal" in ran.out
    done = {"type": "done", "stop": OUTCOME["stop"]}
    assert check(own, {**reported, "events": [*reported["events"], done]}).code == 0


def test_a_fault_is_named_after_the_case(own):
    cut = {"status": "incomplete", "stop": {"reason": None}, "content": []}
    words = ("explain", "--outcome", "outcome.json", "--specs", "specs")
    project = own.with_file("outcome.json", json.dumps(cut))
    assert project.run(*words, "small@reset").code == 0
    assert project.run(*words, "small@stall.5").code == 0
    assert project.run(*words, "small").code == 1
    ran = project.run(*words, "small@reset.77")
    assert ran.code == 2
    assert "has no fault `reset.77`" in ran.err


NO_OUTCOME = [
    ("", "is not a JSON object in UTF-8"),
    ("[]", "is not a JSON object in UTF-8"),
    ('{"status": NaN}', "is not a JSON object in UTF-8"),
    ('{"a":' * 300 + "1" + "}" * 300, "nested deeper than 200 levels"),
]


@pytest.mark.parametrize(("text", "says"), NO_OUTCOME, ids=range(len(NO_OUTCOME)))
def test_what_is_no_outcome_is_the_users_mistake(own, text, says):
    ran = check(own, text)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_an_outcome_that_is_not_in_the_normal_form_fails_with_what_is_wrong(own):
    ran = check(own, {"status": "done", "content": []})
    assert ran.code == 1
    assert "invariant.outcome-schema" in ran.out


def test_a_file_that_is_not_there_is_the_users_mistake(own):
    ran = own.run("explain", "small", "--outcome", "nowhere.json", "--specs", "specs")
    assert (ran.code, "nowhere.json` cannot be read" in ran.err) == (2, True)


# the user's client that the adapter on the page wraps, as small as possible
YOURS = """
import json
from types import SimpleNamespace

import httpx


class ClientError(Exception):
    def __init__(self, so_far):
        self.so_far = so_far


class Client:
    def __init__(self, base_url, api_key, max_retries, timeout):
        self.url, self.http = base_url + "/v1/messages", httpx.Client(timeout=timeout, trust_env=False)

    def stream(self, **request):
        message = SimpleNamespace(text="", finished=False, stop_reason=None)
        try:
            with self.http.stream("POST", self.url, json=request) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data:"):
                        self.event(json.loads(line[5:]), message)
        except json.JSONDecodeError:
            pass
        except httpx.TransportError as error:
            raise ClientError(message.text) from error
        return message

    def event(self, event, message):
        match event["type"]:
            case "content_block_delta":
                message.text += event["delta"].get("text", "")
            case "message_delta":
                message.stop_reason = {"end_turn": "stop"}.get(event["delta"]["stop_reason"])
            case "message_stop":
                message.finished = True
            case "error":
                raise ClientError(message.text)
"""
