"""`conform record` with real servers on loopback: what it sends, stores, refuses and prints."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from streamconform.suite import cassettes
from streamconform.yaml_text import reader

from ..cli.project import Project
from .anthropic import answer
from .recorder import REQUEST
from .server import HEAD as HEAD_OF_STREAM
from .server import Wait, chunk, document, replying, serving, stream

OK = stream(answer("Hi, ", "you."))


def sent(request):
    return json.loads(request.partition(b"\r\n\r\n")[2])


def test_a_stream_becomes_a_cassette_and_a_draft_that_only_strict_lint_refuses(recorder):
    with serving(*OK) as server:
        ran = recorder.run(server.base_url, "--server", "test 1.0", "--note", "By hand.")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "cassettes/anthropic-messages/first.yaml")
    assert (
        "next: conform explain anthropic-messages/recorded/first --specs specs --cassettes cassettes"
        in ran.err
    )
    kept = cassettes.load(recorder.folder / "cassettes", "anthropic-messages", "first")
    assert kept.body == answer("Hi, ", "you.")
    assert len(kept.marks) == len(OK) - 2
    assert (kept.provenance.server, kept.provenance.note) == ("test 1.0", "By hand.")
    assert sorted(path for path in recorder.written() if "first" not in path) == [
        "specs/anthropic-messages/recorded.yaml"
    ]
    sources = ("--specs", "specs", "--cassettes", "cassettes")
    for words, code in (("lint", *sources), 0), (("lint", "--strict", *sources), 2), (("run", *sources), 0):
        done = Project(recorder.folder).run(*words)
        assert done.code == code, done.out + done.err
    assert "reviewed: false" in recorder.spec()
    assert "DRAFT" in recorder.spec()
    assert "text: Hi, you." in recorder.spec()


def test_model_and_stream_are_filled_in_and_the_rest_is_sent_unchanged(recorder):
    with serving(*OK) as server:
        ran = recorder.run(server.base_url + "/v1/", request=REQUEST | {"stream": False, "model": "other"})
        head = server.requests[0].partition(b"\r\n\r\n")[0].lower()
        assert head.startswith(b"post /v1/messages http/1.1")
        assert b"anthropic-version: 2023-06-01" in head
        assert sent(server.requests[0]) == REQUEST | {"model": "m", "stream": True}
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("api", "variable", "header"),
    [
        ("anthropic-messages", "ANTHROPIC_API_KEY", b"x-api-key: A-Key-0123456789"),
        ("openai-chat", "OPENAI_API_KEY", b"authorization: Bearer A-Key-0123456789"),
        ("openai-responses", "OPENAI_API_KEY", b"authorization: Bearer A-Key-0123456789"),
    ],
)
def test_the_key_of_each_api_comes_from_its_variable(recorder, api, variable, header):
    with replying(lambda _: document(b"401 No", b"{}")) as server:
        recorder.run(server.base_url, api=api, environment={variable: "A-Key-0123456789"})
        assert header in server.requests[0]


def test_the_twin_is_the_same_request_without_streaming(recorder):
    whole = b'{"id": "msg_2", "content": [{"type": "text", "text": "Hi, you."}]}'
    with replying(lambda _: OK, lambda _: document(b"200 OK", whole)) as server:
        ran = recorder.run(server.base_url, "--twin")
        first, second = (sent(request) for request in server.requests)
    assert ran.code == 0, ran.err
    assert second == first | {"stream": False}
    assert recorder.cassette("first.twin.json") == whole
    assert cassettes.load(recorder.folder / "cassettes", "anthropic-messages", "first").twin == whole


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (
            b"429 Slow Down",
            b'{"error":{"message":"too many of jane@corp.io"}}',
            "HTTP status 429, expected 2xx",
        ),
        (b"200 OK", b'{"content":[]}', "expected a stream, got 14 bytes of `application/json`"),
    ],
)
def test_an_answer_without_a_stream_is_saved_only_on_demand(recorder, status, body, words):
    with replying(lambda _: document(status, body), lambda _: document(status, body)) as server:
        refused = recorder.run(server.base_url)
        assert recorder.written() == {}
        kept = recorder.run(server.base_url, "--allow-error")
    assert refused.code == 2
    assert words in refused.err
    assert "--allow-error" in refused.err
    assert "jane" not in refused.err
    assert kept.code == 0, kept.err
    assert len(recorder.cassette("first.json")) == len(body)
    assert "status: error" in recorder.spec()


def test_an_answer_that_times_out_is_not_saved(recorder):
    with serving(HEAD_OF_STREAM + b"\r\n", chunk(answer("Hi")[:200]), Wait(8)) as server:
        ran = recorder.run(server.base_url, "--timeout", "2")
    assert ran.code == 2
    assert "did not end within 2 s; raise --timeout" in ran.err
    assert recorder.written() == {}


def test_a_stream_that_the_server_cuts_is_saved_with_a_note(recorder):
    with serving(HEAD_OF_STREAM + b"\r\n", chunk(answer("Hi")[:300])) as server:
        ran = recorder.run(server.base_url)
    assert ran.code == 0
    assert "The recording ends after 300 bytes: closed." in ran.out
    assert "status: incomplete" in recorder.spec()


def test_names_and_addresses_are_replaced_alike_in_request_and_answer(recorder):
    users = "Users"  # split, so that a search for machine paths does not match here
    home = f"/{users}/janedoe/x"
    text = f"jane@corp.io of org-A1b2C3d4E5f6G7h8, in {home}, Acme Ltd, acct:77"
    request = {
        "max_tokens": 9,
        "metadata": {"user_id": "acct:77"},
        "messages": [{"role": "user", "content": text}],
    }
    headers = b"request-id: req_011CSHoEeqs5C35K2UUqR7Fy\r\n"
    with serving(*stream(answer(text, " Again: jane@corp.io"), headers=headers)) as server:
        ran = recorder.run(server.base_url, "--scrub", "Acme Ltd", request=request)
    assert ran.code == 0, ran.err
    body, metadata = recorder.cassette().decode(), recorder.text()
    for name in ("jane", "A1b2C3d4", "Acme", "acct:77", "011CSH"):
        assert name not in body + metadata + recorder.spec() + ran.out + ran.err
    assert len(body.encode()) == len(answer(text, " Again: jane@corp.io"))
    saved = reader.read(recorder.folder / "cassettes/anthropic-messages/first.yaml").value["request"]["body"]
    replaced = saved["messages"][0]["content"]
    assert len(replaced) == len(text)
    assert replaced in body
    assert body.count(replaced.split()[0]) == 2
    assert saved["metadata"]["user_id"] in replaced
    assert "replaced: 1 x e-mail address" in ran.out


SUSPECT = "Qz8Kw2Lm5Xv9Rt3Yp7Nc4Hb6Jd1Fg0"


def test_a_possible_key_is_rejected_with_its_place_and_can_be_allowed(recorder):
    body = answer(f"The code is {SUSPECT}.")
    with replying(*[lambda _: stream(body)] * 3) as server:
        refused = recorder.run(server.base_url)
        assert recorder.written() == {}
        fingerprint = refused.err.rpartition("`--allow ")[0].rpartition("`--allow ")[2].partition("`")[0]
        allowed = recorder.run(server.base_url, "--allow", fingerprint)
        by_field = recorder.run(server.base_url, "--allow", "text", name="second")
    assert refused.code == 2
    assert f"response body, byte {body.index(SUSPECT.encode())} in field `text`: 30 bytes" in refused.err
    assert SUSPECT not in refused.err
    assert (allowed.code, by_field.code) == (0, 0), allowed.err + by_field.err


def test_nothing_is_sent_or_overwritten_if_the_name_exists(recorder):
    with serving(*OK) as server:
        assert recorder.run(server.base_url).code == 0
    before = recorder.written()
    with serving(*OK) as server:
        again = recorder.run(server.base_url)
        (recorder.folder / "cassettes/anthropic-messages/first.yaml").rename(recorder.folder / "old.yaml")
        (recorder.folder / "cassettes/anthropic-messages/first.sse").rename(recorder.folder / "old.sse")
        by_case = recorder.run(server.base_url)
        assert server.requests == []
    assert (again.code, by_case.code) == (2, 2)
    assert "first.sse` already exists" in again.err
    assert "already has a case `first`" in by_case.err
    assert sorted(recorder.written().values()) == sorted(before.values())


def test_a_second_recording_is_appended_and_comments_stay(recorder):
    with replying(lambda _: OK, lambda _: OK) as server:
        recorder.run(server.base_url)
        path = recorder.folder / "specs/anthropic-messages/recorded.yaml"
        path.write_text("# mine\n" + path.read_text())
        ran = recorder.run(server.base_url, name="second")
    assert ran.code == 0, ran.err
    assert recorder.spec().startswith("# mine\n")
    assert [case["id"] for case in reader.read(path).value["cases"]] == ["first", "second"]


@pytest.mark.parametrize(
    ("words", "request_", "message"),
    [
        (("--name", "No Slug"), REQUEST, "`--name No Slug`: expected lower-case words"),
        (("--topic", "../x"), REQUEST, "`--topic ../x`: expected lower-case words"),
        (("--key-env", "NOT_THERE"), REQUEST, "`NOT_THERE`"),
        (("--api", "telegraph"), REQUEST, "telegraph"),
        ((), "[1]", "a JSON object"),
        ((), "{", "line 1, column 2"),
        (("--request", "none.json"), REQUEST, "none.json"),
        (("--base-url", "ftp://127.0.0.1"), REQUEST, "is not an http or https URL"),
    ],
)
def test_a_mistake_is_one_message_and_sends_nothing(recorder, words, request_, message):
    with serving(*OK) as server:
        ran = recorder.run(server.base_url, *words, request=request_)
        assert server.requests == []
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert recorder.written() == {}


def test_a_key_does_not_leave_the_machine_in_the_clear(recorder):
    ran = recorder.run("http://192.0.2.1", environment={"ANTHROPIC_API_KEY": "A-Key-0123456789"})
    assert ran.code == 2
    assert "unencrypted" in ran.err


def test_progress_on_a_terminal_contains_no_answer_text(recorder):
    master, terminal = pty.openpty()
    with serving(*OK) as server:
        (recorder.folder / "request.json").write_text(json.dumps(REQUEST))
        words = (
            "--api",
            "anthropic-messages",
            "--base-url",
            server.base_url,
            "--model",
            "m",
            "--name",
            "first",
        )
        done = subprocess.run(
            (sys.executable, "-m", "streamconform", "record", *words, "--request", "request.json"),
            cwd=recorder.folder,
            stdout=subprocess.PIPE,
            stderr=terminal,
            check=False,
            timeout=60,
        )
    os.close(terminal)
    shown = os.read(master, 1 << 16).decode()
    os.close(master)
    assert done.returncode == 0
    assert f"{len(OK) - 2} chunks" in shown
    assert "message_stop" in shown
    assert "you." not in shown
