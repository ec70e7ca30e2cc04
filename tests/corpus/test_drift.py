"""`conform lint --shapes FOLDER`: what it finds in folders of recordings, and how it reports it."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.bundled_suite import SOURCES
from tests.cli.project import Project

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
    return project.run("lint", "--shapes", *words)


def test_streams_of_the_suite_have_nothing_new(project):
    folder = project.folder / "streams" / "ollama-chat"
    shutil.copytree(SOURCES.cassettes / "ollama-chat", folder)
    ran = run(project, "streams")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last.startswith("nothing new in ")
    assert "ollama-chat incomplete -: " in ran.out


def test_a_new_field_and_a_new_word_are_listed_with_count_and_example(project):
    ran = run(project, "streams", old=BODY, one=NEW, two=NEW)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        API,
        "  chunk choices[].delta.mystery object",
        f"      2 answers, for example {API}/one.sse",
        "  chunk choices[].finish_reason = tired",
        f"      2 answers, for example {API}/one.sse; it changes the outcome",
        f"2 new shapes in 3 answers (3 of {API})",
    ]


def test_a_new_event_is_one_line(project):
    event = 'event: surprise\ndata: {"type":"surprise","a":1,"b":{"c":2}}\n\n'
    ran = run(project, "streams", one=BODY.replace("data: [DONE]", f"{event}data: [DONE]"))
    assert [line for line in ran.out.splitlines() if line.startswith("  s")] == ["  surprise * new event"]
    assert ran.last == f"1 new shape in 1 answer (1 of {API})"


def test_a_value_that_decides_nothing_is_not_marked(project):
    body = BODY.replace('"role":"assistant"', '"role":"helper"')
    lines = run(project, "streams", one=body).out.splitlines()
    assert lines[1:3] == [
        "  chunk choices[].delta.role = helper",
        f"      1 answer, for example {API}/one.sse",
    ]


def test_an_answer_that_does_not_stream_is_read(project):
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "tired"}
    document = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    project = project.with_file(f"streams/{API}/whole.json", json.dumps(document))
    assert run(project, "streams").out.splitlines() == [
        API,
        "  document choices[].finish_reason = tired",
        f"      1 answer, for example {API}/whole.json; it changes the outcome",
        f"1 new shape in 1 answer (1 of {API})",
    ]


def test_answers_that_are_not_complete_are_listed_by_reason(project):
    cut = BODY.replace('"finish_reason":"stop"', '"finish_reason":null')
    error = 'data: {"error":{"message":"Overloaded","type":"server_error"}}\n\n'
    ran = run(project, "streams", one=cut, two=cut, three=error, whole=BODY)
    assert (ran.code, ran.out.splitlines()) == (
        0,
        [
            f"{API} error server_error: 1 answer, for example {API}/three.sse",
            f"{API} incomplete -: 2 answers, for example {API}/one.sse",
            f"nothing new in 4 answers (4 of {API})",
        ],
    )


def test_a_line_holds_no_recorded_text(project):
    assert "Hi" not in run(project, "streams", one=NEW).out


def test_several_folders_are_read_together(project):
    project = project.with_file(f"more/{API}/two.sse", NEW)
    ran = run(project, "streams", "more", one=NEW)
    assert ran.last == f"2 new shapes in 2 answers (2 of {API})"


def test_a_recording_that_was_not_read_is_named_and_the_exit_code_is_2(project):
    ran = run(project.with_file("streams/future-api/one.sse", BODY), "streams", one=BODY)
    assert ran.code == 2
    reason = "the API future-api is not known to this version"
    assert ran.out.splitlines()[0] == f"not read: future-api/one.sse: {reason}"


def test_a_missing_folder_is_named(project):
    ran = run(project, "nowhere")
    assert ran.code == 2
    assert "nowhere" in ran.err
    assert "Traceback" not in ran.err
