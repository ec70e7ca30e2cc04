"""`conform lint` finds secrets in committed files, however they got there."""

from __future__ import annotations

import os

import pytest

from streamconform.suite import cassettes
from streamconform.suite.load import Sources
from streamconform_capture.record import committed

from ..cli.project import Project
from ..harness import builders
from .anthropic import answer
from .planted import FORMS, KEY

IN_BODY = [form for form in FORMS if form.in_body]
CASE = "{id: a, title: A case, cassette: a, expect: {status: complete, stop: stop, content: []}}"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFORM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def sources(tmp_path):
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    made.specs.mkdir()
    made.cassettes.mkdir()
    return made


def find(sources, *allowed):
    return committed.start_scan(committed.list_files((), sources), allowed)()


def test_every_form_of_a_key_in_a_body_is_found(sources):
    clean = cassettes.save(sources.cassettes, builders.cassette(answer("Hello"), name="clean"))
    for number, form in enumerate(IN_BODY):
        body = form.plant(KEY).body
        cassettes.save(sources.cassettes, builders.cassette(body, name=f"form-{number}"))
    found = {problem.path.rpartition("-")[2].partition(".")[0] for problem in find(sources)}
    assert [form.name for number, form in enumerate(IN_BODY) if str(number) not in found] == []
    assert not any(str(clean.with_suffix("")) in problem.path for problem in find(sources))


def test_a_pipe_is_not_waited_for(sources):
    path = sources.specs / "anthropic-messages" / "pipe.yaml"
    path.parent.mkdir()
    os.mkfifo(path)
    assert committed.start_scan([path], ())() == []  # loading reports it


def test_a_file_that_is_too_large_to_scan_is_a_problem(sources, monkeypatch):
    monkeypatch.setattr(committed, "MAX_BODY", 100)
    path = sources.specs / "notes.txt"
    path.write_text(f"{'x' * 100}{KEY}")
    for _ in range(2):  # it is never remembered as clean
        (problem,) = find(sources)
        assert problem.message == "not scanned for secrets: the file is larger than 100 bytes"


def test_a_problem_names_file_and_line_and_not_the_key(sources):
    path = sources.specs / "anthropic-messages" / "topic.yaml"
    path.parent.mkdir()
    path.write_text(f"# one\n# two\n# {KEY}\n")
    (problem,) = find(sources)
    assert (problem.path, problem.line) == (str(path), 3)
    assert "look like an API key" in problem.message
    assert KEY not in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "mail to jane@tidewater.io",
        "arn:aws:bedrock:eu-west-1:8412" + "07735519:inference-profile/x",
        "AKIA" + "Q" * 16,
    ],
)
def test_addresses_and_accounts_are_found_too(sources, text):
    (sources.specs / "x.yaml").write_text(text)
    assert len(find(sources)) == 1


def test_a_clean_file_is_not_scanned_again_and_a_changed_one_is(sources, monkeypatch):
    path = sources.specs / "x.yaml"
    path.write_text("clean")
    scanned = []
    scan = committed.scan
    monkeypatch.setattr(committed, "scan", lambda *a, **k: scanned.append(1) or scan(*a, **k))
    assert (find(sources), find(sources), len(scanned)) == ([], [], 1)
    path.write_text(f"not {KEY}")
    assert len(find(sources)) == len(find(sources)) == 1
    assert len(scanned) == 3


def test_what_is_allowed_once_is_not_clean_for_ever(sources):
    (sources.specs / "x.yaml").write_text(KEY)
    (problem,) = find(sources)
    fingerprint = problem.message.partition("--allow ")[2][:8]
    assert find(sources, fingerprint) == []
    assert len(find(sources)) == 1


def test_a_process_of_its_own_finds_the_same(sources, monkeypatch):
    (sources.specs / "x.yaml").write_text(KEY)
    alone = find(sources)
    monkeypatch.setattr(committed, "BEHIND", 0)
    assert find(sources) == alone != []


def test_lint_reports_a_key_until_it_is_allowed_in_the_config(tmp_path):
    project = Project(tmp_path)
    body = answer(f"It is {KEY[:10]}", f"{KEY[10:]}.")
    cassettes.save(tmp_path / "cassettes", builders.cassette(body, name="a"))
    (tmp_path / "specs" / "anthropic-messages").mkdir(parents=True)
    (tmp_path / "specs" / "anthropic-messages" / "topic.yaml").write_text(
        f"spec: 1\napi: anthropic-messages\ntopic: topic\ncases: [{CASE}]\n"
    )
    words = ("lint", "--specs", "specs", "--cassettes", "cassettes")
    ran = project.run(*words)
    assert (ran.code, KEY in ran.out) == (2, False)
    assert f"a.sse: {len(KEY)} bytes look like an API key, after joining a field of all frames" in ran.out
    fingerprint = ran.out.partition("--allow ")[2][:8]
    (tmp_path / "conform.toml").write_text(f'allow = ["{fingerprint}"]\n')
    ran = project.run(*words)
    assert (ran.code, ran.err) == (0, "1 case, no problems\n"), ran.out
