"""`conform drift`: what it finds in folders and on a server, and how it reports it."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.bundled_suite import SOURCES
from tests.cli.project import Project
from tests.record.server import END, HEAD, chunk, replying

API = "openai-chat"
BODY = (
    'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
    '"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}\n\n'
    'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
    '"delta":{},"finish_reason":"stop"}]}\n\n'
    "data: [DONE]\n\n"
)
NEW = BODY.replace('"content":"Hi"', '"content":"Hi","mystery":{"deep":[1]}').replace('"stop"', '"tired"')


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def run(project, *words, **files):
    for name, text in files.items():
        project = project.with_file(f"streams/{API}/{name}.sse", text)
    return project.run("drift", *words)


def test_streams_of_the_suite_have_nothing_new(project):
    folder = project.folder / "streams" / "ollama-chat"
    shutil.copytree(SOURCES.cassettes / "ollama-chat", folder)
    ran = run(project, "streams")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last.startswith("nothing new in ")


def test_a_new_field_and_a_new_word_are_listed_with_count_and_example(project):
    ran = run(project, "streams", old=BODY, one=NEW, two=NEW)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        API,
        "  chunk choices[].delta.mystery object",
        f"      2 streams, for example {API}/one.sse",
        "  chunk choices[].finish_reason = tired",
        f"      2 streams, for example {API}/one.sse",
        f"2 new shapes in 3 streams (3 of {API})",
    ]


def test_a_new_event_is_one_line(project):
    event = 'event: surprise\ndata: {"type":"surprise","a":1,"b":{"c":2}}\n\n'
    ran = run(project, "streams", one=BODY.replace("data: [DONE]", f"{event}data: [DONE]"))
    assert [line for line in ran.out.splitlines() if line.startswith("  s")] == ["  surprise * new event"]
    assert ran.last == f"1 new shape in 1 stream (1 of {API})"


def test_reports_hold_everything_but_what_was_said(project):
    ran = run(project, "streams", "--report", "json=a.json", "--report", "markdown=a.md", "-q", one=NEW)
    assert ran.out == f"2 new shapes in 1 stream (1 of {API})\n"
    report = json.loads((project.folder / "a.json").read_text("utf-8"))
    assert report["streams"] == {API: 1}
    assert [(each["path"], each["type"], each["streams"]) for each in report["new"]] == [
        ("choices[].delta.mystery", "object", 1),
        ("choices[].finish_reason", "= tired", 1),
    ]
    page = (project.folder / "a.md").read_text("utf-8")
    assert "| `chunk choices[].delta.mystery object` | 1 |" in page
    assert "Hi" not in page


def test_a_server_is_asked_and_its_answers_are_dated(project):
    answers = [lambda _: (HEAD + b"\r\n", chunk(NEW.encode()), END)] * 20
    with replying(*answers) as server:
        ran = run(project, server.base_url, "--api", API, "--report", "json=-")
    report = json.loads(ran.out)
    assert ran.code == 1
    assert report["streams"][API] == len(server.requests)
    assert {each["first"] for each in report["new"]} == {each["last"] for each in report["new"]} != {None}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere",), 2, "`nowhere` is neither a folder"),
        (("http://127.0.0.1:9",), 2, "a URL needs the server's API"),
        (("http://127.0.0.1:9", "--api", API), 3, "127.0.0.1:9"),
        (("http://127.0.0.1:9", "--api", "google-generate"), 2, "add --model NAME"),
        ((".", "--report", "xml=a"), 2, "where KIND is `json` or `markdown`"),
    ],
)
def test_a_mistake_is_named(project, words, code, message):
    ran = run(project, *words)
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err
