"""The Python API, as `streamconform.library` documents it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import streamconform
from streamconform import judge_outcome, load_cases, run_suite, write_report
from streamconform.errors import ImplementationError, ReportError, SelectionError

PLAIN = "openai-chat/text/text-plain"


def test_cases_are_loaded_by_pattern():
    assert [case.id for case in load_cases(["openai-chat/text/**"])][:1] != []
    assert {case.api for case in load_cases(["ollama-chat/**"])} == {"ollama-chat"}
    with pytest.raises(SelectionError):
        load_cases(["no-such-case"])


def test_a_run_returns_the_results_that_it_writes(tmp_path):
    path = tmp_path / "results.jsonl"
    results = run_suite("reference", select=["ollama-chat/text/**"], deliver="fast", path=path)
    assert results.trials
    assert {trial.verdict for trial in results.trials} == {"pass"}
    assert path.read_text("utf-8").count("\n") == len(results.trials) + 2
    write_report("html", tmp_path / "r.html", results)
    write_report("junit", tmp_path / "r.xml", results)
    assert "ollama-chat" in (tmp_path / "r.html").read_text("utf-8")
    with pytest.raises(ReportError):
        write_report("json", tmp_path / "r.xml" / "r.json", results)


def test_an_implementation_that_cannot_be_reached_is_an_error(tmp_path):
    with pytest.raises(ImplementationError):
        run_suite("python:no_such_module:adapter", select=[PLAIN], path=tmp_path / "results.jsonl")


def test_an_outcome_is_judged_without_a_run():
    (case,) = load_cases(["ollama-chat/text/plain-text"])
    text = "A slate roof lasts a hundred years."
    outcome = {
        "status": "complete",
        "content": [{"type": "text", "text": text}],
        "stop": {"reason": "stop", "raw": "stop"},
    }
    checks = {check.path: check.verdict for check in judge_outcome(case, outcome).checks}
    assert "content.0.text" not in checks
    wrong = judge_outcome(case, outcome | {"content": []})
    assert wrong.verdict == "fail"
    assert "content.length" in {check.path for check in wrong.checks}


def test_a_function_is_judged_by_its_output():
    (case, *_) = load_cases(["common/heal/json-text"])
    assert judge_outcome(case, {"no": "such thing"}).verdict == "fail"


def test_everything_public_is_there_and_importing_the_package_imports_none_of_it():
    for name in streamconform.__all__:
        assert getattr(streamconform, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = streamconform.no_such_name
    code = (
        "import sys, streamconform; print([name for name in sys.modules if name.startswith('streamconform')])"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['streamconform._version', 'streamconform']"


def test_a_passing_run_into_a_pipe_imports_neither_rich_nor_the_metadata_of_packages(tmp_path):
    words = ["run", "-q", "-k", "ollama-chat/text/plain-text@whole"]
    code = (
        f"import sys; from streamconform.cli import conform; conform.main({words}, standalone_mode=False);"
        " print([name for name in ('rich', 'importlib.metadata') if name in sys.modules])"
    )
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "1 passed" in done.stdout
