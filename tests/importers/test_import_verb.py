"""`conform import`: a regression test in one minute."""

from __future__ import annotations

import gzip
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from streamconform.errors import LostError
from streamconform_capture import importers
from streamconform_capture.cli.import_ import command

from ..cli.project import Project
from ..harness.builders import TEXT_FRAMES, sse_body
from .test_formats import flow

BODY = sse_body(TEXT_FRAMES).decode()
API = ("--api", "anthropic-messages")
ASKED = {
    "method": b"POST",
    "scheme": b"https",
    "host": b"api.anthropic.com",
    "path": b"/v1/messages",
    "headers": [],
}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path).with_file("incident.sse", BODY)


def spec(project, topic="imported"):
    return project.folder / "specs" / "anthropic-messages" / f"{topic}.yaml"


def test_a_file_becomes_a_cassette_and_a_case_that_runs(project):
    made = project.run("import", "incident.sse", *API)
    assert made.code == 0, made.err
    assert made.out == (
        f"cassettes/anthropic-messages/incident.yaml: {len(BODY.encode())} bytes, 7 frames\n"
        "specs/anthropic-messages/imported.yaml: draft case `incident` (complete, stop)\n"
    )
    ran = project.run("run", "--specs", "specs")
    assert ran.code == 0, ran.out
    broken = project.run("run", "--specs", "specs", "-i", "mutant:usage-summed")
    assert broken.code == 1
    assert "anthropic-messages/imported/incident" in broken.out
    assert (project.folder / "cassettes/anthropic-messages/incident.sse").read_bytes() == BODY.encode()


def test_a_draft_says_that_it_is_one_and_strict_lint_refuses_it(project):
    project.run("import", "incident.sse", *API)
    text = spec(project).read_text("utf-8")
    assert "# DRAFT: the output of the bundled parser" in text
    (case,) = yaml.safe_load(text)["cases"]
    assert case["reviewed"] is False
    assert case["expect"]["content"] == [{"text": "Grüß dich 🌍"}]
    assert project.run("lint", "--specs", "specs", "--cassettes", "cassettes").code == 0
    strict = project.run("lint", "--specs", "specs", "--cassettes", "cassettes", "--strict")
    assert strict.code == 2
    assert "is a draft (`reviewed: false`)" in strict.out


def test_cases_are_appended_and_nothing_is_overwritten(project):
    project.run("import", "incident.sse", *API)
    before = spec(project).read_bytes()
    again = project.run("import", "incident.sse", *API)
    assert again.code == 2
    assert "exists, or two imports have the same name" in again.err
    assert spec(project).read_bytes() == before
    assert project.run("import", "incident.sse", *API, "--name", "Second one").code == 0
    assert [case["id"] for case in yaml.safe_load(spec(project).read_text())["cases"]] == [
        "incident",
        "second-one",
    ]
    assert spec(project).read_bytes().startswith(before)


def test_a_case_of_the_same_name_is_never_overwritten(project):
    project.run("import", "incident.sse", *API)
    for path in (project.folder / "cassettes/anthropic-messages").iterdir():
        path.unlink()
    again = project.run("import", "incident.sse", *API)
    assert again.code == 2
    assert "already has a case `incident`" in again.err
    assert list((project.folder / "cassettes/anthropic-messages").iterdir()) == []


def test_a_spec_that_no_case_can_be_appended_to_is_left_as_it_is(project):
    case = "{id: a, title: A case, cassette: a, expect: {status: complete, stop: stop, content: []}}"
    text = f"cases: [{case}]\nspec: 1\napi: anthropic-messages\ntopic: other\n"
    with_spec = project.with_file("specs/anthropic-messages/other.yaml", text)
    made = with_spec.run("import", "incident.sse", *API, "--topic", "other")
    assert made.code == 2
    assert "cannot append a case to" in made.err
    assert spec(project, "other").read_text() == text


def test_name_topic_and_folders_can_be_chosen(project):
    made = project.run(
        "import",
        "incident.sse",
        *API,
        "--name",
        "cut",
        "--topic",
        "outage",
        "--specs",
        "s",
        "--cassettes",
        "c",
    )
    assert made.code == 0
    assert (project.folder / "s/anthropic-messages/outage.yaml").exists()
    assert (project.folder / "c/anthropic-messages/cut.sse").exists()


def test_stdin_is_read(project):
    ran = project.run("import", "-", *API, "--name", "piped", stdin=BODY)
    assert ran.code == 0, ran.err
    assert (project.folder / "cassettes/anthropic-messages/piped.sse").read_bytes() == BODY.encode()


def test_several_files_are_one_topic(project):
    made = project.with_file("other.sse", BODY).run("import", "incident.sse", "other.sse", *API)
    assert made.code == 0
    assert "2 drafts: review them" in made.err


def test_a_cut_stream_is_drafted_as_incomplete(project):
    made = project.with_file("cut.sse", BODY[:-60]).run("import", "cut.sse", *API)
    assert "draft case `cut` (incomplete)" in made.out
    assert project.run("run", "--specs", "specs").code == 0


def test_what_looks_like_a_key_is_refused_until_it_is_allowed(project):
    leaky = project.with_file("leak.sse", BODY.replace("Grüß", "sk-abcdefghij0123456789"))
    refused = leaky.run("import", "leak.sse", *API)
    assert refused.code == 2
    assert "look like an API key" in refused.err
    assert not (project.folder / "cassettes").exists()
    fingerprint = refused.err.partition("--allow ")[2][:8]
    assert leaky.run("import", "leak.sse", *API, "--allow", fingerprint).code == 0


WRONG = {
    "no api": (("empty.sse",), "cannot detect the API from its frames; pass --api"),
    "wrong api": (
        ("incident.sse", "--api", "openai-chat"),
        "its API is not openai-chat: 0 of 7 frames match; it looks like anthropic-messages",
    ),
    "no file": (("nothing.sse", *API), "cannot be read"),
    "one name for two": (("incident.sse", "incident.sse", *API, "--name", "a"), "one by one"),
    "the same twice": (("incident.sse", "incident.sse", *API), "two imports have the same name"),
    "topic": (("incident.sse", *API, "--topic", "Not a slug"), "--topic Not a slug"),
    "stdin without a name": (("-", *API), "stdin has no name; add `--name NAME`"),
    "empty": (("empty.sse", *API), "nothing was imported"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_message(project, name):
    words, message = WRONG[name]
    made = project.with_file("empty.sse", "").run("import", *words)
    assert made.code == 2
    assert message in made.err
    assert "Traceback" not in made.err
    assert not (project.folder / "specs").exists()


def test_help_imports_no_http_library():
    program = (
        "import sys, click, streamconform.cli as cli\n"
        "cli.conform.get_help(click.Context(cli.conform))\n"
        "print([name for name in ('vcr', 'httpx', 'yaml') if name in sys.modules])"
    )
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_exchange_that_is_neither_imported_nor_skipped_is_a_bug(project, monkeypatch):
    (project.folder / "three.flow").write_bytes(flow(BODY.encode()) * 3)
    monkeypatch.chdir(project.folder)
    whole = importers.import_file(
        Path("three.flow"), (project.folder / "three.flow").read_bytes(), None, None
    )
    lossy = replace(whole, cassettes=whole.cassettes[:2])
    monkeypatch.setattr(importers, "import_file", lambda *_: lossy)
    with pytest.raises(LostError, match="3 exchanges read, but 2 imported, 0 not imported"):
        command.main(["three.flow"], standalone_mode=False)


UNSAVABLE = {
    "half a character in the request": flow(BODY.encode(), request={**ASKED, "content": b'{"a":"\\ud800"}'}),
    "half a character in the answer": flow(BODY.encode().replace(b"dich", b"\\ud800")),
    "a number beyond all numbers": flow(BODY.encode(), request={**ASKED, "content": b'{"a":1e999}'}),
    "a deep request": flow(
        BODY.encode(), request={**ASKED, "content": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"}
    ),
    "a long path": flow(BODY.encode(), request={**ASKED, "path": b"/v1/messages?" + b"a" * 100_000}),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_an_exchange_that_cannot_be_saved_does_not_keep_the_others_out(project, name):
    (project.folder / "three.flow").write_bytes(flow(BODY.encode()) + UNSAVABLE[name] + flow(BODY.encode()))
    made = project.run("import", "three.flow")
    assert made.code == 0, made.err
    assert made.out.count("draft case") == 2
    assert "not imported: three.flow, flow 2: " in made.err
    assert "2 drafts" in made.err


def test_what_is_missing_from_a_recording_is_said(project):
    (project.folder / "cut.flow").write_bytes(flow(gzip.compress(BODY.encode())[:-20], b"gzip"))
    made = project.run("import", "cut.flow")
    assert made.code == 0
    assert "check cut: The gzip data is truncated: the recording was cut short." in made.err
