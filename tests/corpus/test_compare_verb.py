"""`conform compare` on small folders, with implementations that differ, break rules, or do not answer."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from streamconform_dev.docs.command import CONFORM

from ..cli.project import Project
from ..harness.builders import TEXT_FRAMES, sse_body

BODY = sse_body(TEXT_FRAMES).decode()
CUT = BODY[:-30]

ADAPTERS = '''
import os

from streamconform_reference import adapter as reference


def outcome(run):
    *_, last = reference(run)
    return last["outcome"]


def loses_emoji(run):
    answer = outcome(run)
    for block in answer["content"]:
        block["text"] = block["text"].replace("\\N{EARTH GLOBE EUROPE-AFRICA}", "")
    return answer


def by_chunks(run):
    """Decodes every chunk by itself."""
    text = "".join(chunk.decode("utf-8", "replace") for chunk in run.chunks)
    run.chunks._chunks, run.chunks.taken = [text.encode()], 0
    return outcome(run)


def two_ends(run):
    *events, last = reference(run)
    yield from [*events, events[-1], last]


def raises(run):
    raise RuntimeError("secret words of the recording")


def exits_if_uncut(run):
    if len([*run.chunks]) == 1:
        os._exit(7)
    run.chunks.taken = 0
    return outcome(run)


def ends_badly(run):
    return {"status": "complete"}


def chat_only(run):
    return outcome(run)


for each in (loses_emoji, by_chunks, raises, exits_if_uncut, ends_badly, chat_only):
    each.capabilities = ["tool_calls", "usage", "errors"]
chat_only.apis = ["openai-chat"]
'''


@pytest.fixture
def project(tmp_path):
    error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    entry = {"file": "e/529.json", "api": "anthropic-messages", "status": 529}
    manifest = [
        {"file": "a/whole.sse", "api": "anthropic-messages"},
        {"file": "a/cut.sse", "api": "anthropic-messages"},
        entry | {"content_type": "application/json"},
    ]
    return (
        Project(tmp_path)
        .with_file("mine.py", ADAPTERS)
        .with_file("corpus/manifest.jsonl", "".join(json.dumps(each) + "\n" for each in manifest))
        .with_file("corpus/a/whole.sse", BODY)
        .with_file("corpus/a/cut.sse", CUT)
        .with_file("corpus/e/529.json", error)
    )


def compare(project, *words):
    return project.run("compare", *words, "--corpus", "corpus")


def causes(project, *words):
    ran = compare(project, *words, "--report", "json=-")
    return ran.code, [
        (each["about"], each["what"], each["recordings"], each["trials"])
        for each in json.loads(ran.out)["causes"]
    ]


def test_one_implementation_without_a_fault_is_as_expected(project):
    ran = compare(project, "reference")
    assert ran.code == 0, ran.out + ran.err
    assert "3 recordings, 9 trials, 0 causes in 0 recordings, 0 not read" in ran.out


def with_unread(project, count):
    """Return the project with recordings of an unknown API."""
    entries = ({"file": f"b/{number}.sse", "api": "future-api"} for number in range(count))
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    return project.with_file("corpus/manifest.jsonl", project.files["corpus/manifest.jsonl"] + lines)


def test_recordings_that_were_not_read_are_listed_and_the_exit_code_is_2(project):
    project = with_unread(project, 5)
    ran = compare(project, "reference")
    assert ran.code == 2, ran.out + ran.err
    assert "3 recordings, 9 trials, 0 causes in 0 recordings, 5 not read" in ran.out
    reason = "not read: 5 of future-api: the API future-api is not known to this version"
    assert f"{reason}\n    b/0.sse\n    b/1.sse\n    b/2.sse\n    and 2 more\n" in ran.out
    assert compare(project, "reference", "mutant:usage-summed").code == 2, "although they differ"
    assert compare(project, "reference", "--api", "anthropic-messages").code == 0, "it was not asked for"


def test_every_ending_is_counted_with_its_reason(project):
    ran = compare(project, "reference", "--report", "json=-")
    assert json.loads(ran.out)["outcomes"] == [
        {"api": "anthropic-messages", "status": status, "reason": reason, "recordings": [1]}
        for status, reason in (("complete", "stop"), ("error", "overloaded_error"), ("incomplete", "-"))
    ]


def test_an_implementation_that_differs_is_reported_by_its_cause(project):
    code, found = causes(project, "reference", "python:mine:loses_emoji")
    assert code == 1
    assert found == [("implementations", "Truncates text", 2, 2)]


def test_equal_differences_are_one_cause_with_examples(project):
    ran = compare(project, "reference", "mutant:usage-summed", "--examples", "1")
    assert ran.code == 1
    assert "reference -> mutant:usage-summed: Reports too many tokens" in ran.out
    assert "2 recordings, 2 trials; harm: bills incorrectly" in ran.out
    assert "reference 9, mutant:usage-summed 10" in ran.out
    assert ran.out.count("a/cut.sse@whole usage.output") == 1, "the smallest recording is the example"
    assert "a/whole.sse@whole usage.output" not in ran.out


def test_an_outcome_that_depends_on_the_cuts_is_reported(project):
    code, found = causes(project, "python:mine:by_chunks", "--deliver", "whole,bytewise")
    assert code == 1
    assert found == [("deliveries", "Garbles characters in text", 2, 2)]
    ran = compare(project, "python:mine:by_chunks", "--deliver", "whole,bytewise")
    assert "a/whole.sse@bytewise content.0.text" in ran.out
    assert 'whole "Grüß dich 🌍", bytewise "Gr' in ran.out


def test_a_broken_invariant_is_reported(project):
    code, found = causes(project, "python:mine:two_ends", "--deliver", "whole")
    assert code == 1
    assert found == [
        ("invariant", "Sends events that contradict each other (`invariant.one-terminal`)", 3, 3)
    ]


def test_an_implementation_that_does_not_answer_is_reported(project):
    code, found = causes(project, "python:mine:raises", "--deliver", "whole")
    assert code == 1
    assert found == [("no answer", "faulted: RuntimeError", 3, 3)]


def test_a_program_that_exits_is_blamed_for_that_delivery_and_answers_the_others(project):
    code, found = causes(project, "python:mine:exits_if_uncut", "--deliver", "whole,bytewise,random")
    assert code == 1
    assert found == [("no answer", "faulted: exited", 3, 3)]


def test_an_answer_that_is_not_in_the_normal_form_is_reported(project):
    code, found = causes(project, "python:mine:ends_badly", "--deliver", "whole")
    assert code == 1
    assert found == [("invariant", "Returns an outcome that is not in the normal form", 3, 3)]


def test_an_api_that_is_not_claimed_is_counted(project):
    ran = compare(project, "reference", "python:mine:chat_only", "--deliver", "whole")
    assert ran.code == 0
    words = "not run: 3 trials of python:mine:chat_only: the API anthropic-messages is not claimed"
    assert words in ran.out
    assert compare(project, "python:mine:chat_only").code == 5


def test_an_answer_that_does_not_stream_is_compared_as_a_document(project):
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}
    project = project.with_file("whole/openai-chat/a.json", json.dumps({"choices": [choice]}))
    ran = project.run("compare", "reference", "python:mine:loses_emoji", "--corpus", "whole")
    assert ran.code == 0, ran.out + ran.err
    assert "1 recording, 2 trials, 0 causes in 0 recordings, 0 not read" in ran.out
    assert re.search(r"openai-chat +complete +stop +1 +0\n", ran.out)
    words = "not run: 1 trial of python:mine:loses_emoji: documents is not claimed"
    assert words in ran.out


WITHOUT_TEXT = (
    ("reference", "python:mine:loses_emoji"),
    ("python:mine:by_chunks",),
    ("python:mine:raises",),
)


@pytest.mark.parametrize("words", WITHOUT_TEXT, ids=" ".join)
def test_what_was_recorded_is_in_no_report_that_is_committed(project, words):
    ran = compare(project, *words, "--report", "markdown=r.md", "--report", "json=r.json", "--no-text")
    printed = ran.out + (project.folder / "r.md").read_text() + (project.folder / "r.json").read_text()
    assert not [word for word in ("Grü", "dich", "secret words") if word in printed]
    compare(project, *words, "--report", "markdown=r.md", "--report", "json=r.json")
    assert not [
        word for word in ("Grü", "dich", "secret words") if word in (project.folder / "r.md").read_text()
    ]
    assert [word for word in ("Grü", "secret words") if word in (project.folder / "r.json").read_text()]
    compare(project, *words, "--report", "markdown=r.md", "--text")
    assert [word for word in ("Grü", "secret words") if word in (project.folder / "r.md").read_text()]


def test_the_markdown_holds_every_part(project):
    project = with_unread(project, 1)
    ran = compare(project, "reference", "python:mine:by_chunks", "--report", "markdown=-")
    assert "| anthropic-messages | complete | stop | 1 | 1 |" in ran.out
    assert "- python:mine:by_chunks: Garbles characters in text: 2 recordings" in ran.out
    assert "| future-api | the API future-api is not known to this version | 1 |" in ran.out


def test_reports_are_the_same_from_run_to_run(project):
    words = ("reference", "python:mine:by_chunks", "--report", "json=-", "-n", "2")
    once, command = compare(project, *words).out, (*CONFORM, "compare", *words, "--corpus", "corpus")
    again = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert once == again.stdout, "the hash seed of a new Python is another"


def test_quiet_prints_one_line_or_none(project):
    assert len(compare(project, "reference", "-q").out.splitlines()) == 1
    assert compare(project, "reference", "-qq").out == ""


WRONG = {
    "delivery": (("reference", "--deliver", "whole,nothing"), 2, "no delivery `nothing`"),
    "report": (("reference", "--report", "html=x"), 2, "expected KIND=PATH"),
    "api": (("reference", "--api", "openai-chat"), 2, "contains no recording of openai-chat"),
    "implementation": (("nobody",), 3, "`nobody` cannot be used"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_message(project, name):
    words, code, message = WRONG[name]
    ran = compare(project, *words)
    assert (ran.code, "Traceback" in ran.err) == (code, False)
    assert message in ran.err


def test_examples_are_made_smaller_and_fail_again(project):
    ran = compare(project, "reference", "mutant:usage-summed", "--deliver", "whole", "--minimise", "small")
    assert ran.code == 1
    assert "minimised: small/cassettes/anthropic-messages/" in ran.out
    again = project.run(
        *("run", "-i", "mutant:usage-summed", "--specs", "small/specs", "--cassettes", "small/cassettes")
    )
    assert again.code == 1
    assert "Reports too many tokens" in again.out
