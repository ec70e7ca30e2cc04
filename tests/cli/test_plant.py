"""`conform run --plant FILE` says which cases catch a bug, and whose fault it is if the file is wrong."""

from __future__ import annotations

import re

import pytest

from streamconform_dev.checkout import ROOT

from .project import Project

EXAMPLES = dict(
    re.findall(
        r"<!-- file: (.+?) -->\n```python\n(.*?)```", (ROOT / "docs/plant.md").read_text("utf-8"), re.DOTALL
    )
)
"""The examples of the page, by file name."""
CALLS = ("--api", "openai-chat", "-k", "openai-chat/tool-calls/**", "--deliver", "fast")
HARMLESS = "def change_outcome(outcome):\n    pass\n"


def plant(folder, text, *words):
    return Project(folder, {"bug.py": text}).run("run", "--plant", "bug.py", *words)


@pytest.mark.parametrize(
    ("name", "selection", "catching"),
    [
        ("repaired.py", CALLS, "openai-chat/tool-calls/malformed-arguments  must, fail"),
        ("split_characters.py", ("-k", "ollama-chat/text/**"), "ollama-chat/text/"),
        ("first_choice.py", ("-k", "openai-chat/usage/**", "--deliver", "fast"), "raised IndexError"),
    ],
)
def test_the_examples_of_the_page_are_caught_and_the_smallest_stream_is_shown(
    tmp_path, name, selection, catching
):
    ran = plant(tmp_path, EXAMPLES[name], *selection, "-v")
    assert ran.code == 0, ran.out + ran.err
    assert re.search(r"^Caught: [0-9]+ of [0-9]+ cases catch bug.py, in [0-9]+ trials", ran.out, re.MULTILINE)
    assert catching in ran.out
    assert "The stream, in" in ran.out
    assert "reproduce: conform explain " in ran.out


def test_every_example_of_the_page_is_tested():
    assert sorted(EXAMPLES) == ["first_choice.py", "repaired.py", "split_characters.py"]


def test_cases_are_listed_with_the_smallest_body_first(tmp_path):
    ran = plant(tmp_path, EXAMPLES["repaired.py"], *CALLS, "-v")
    sizes = [int(size.replace(",", "")) for size in re.findall(r", ([0-9,]+) bytes; ", ran.out)]
    assert len(sizes) > 1
    assert sizes == sorted(sizes)


def test_the_same_bug_gets_the_same_answer(tmp_path):
    first, second = (plant(tmp_path, EXAMPLES["repaired.py"], *CALLS).out for _ in range(2))
    assert first == second


def test_a_bug_that_nothing_catches_gets_the_steps_to_propose_a_case(tmp_path):
    ran = plant(tmp_path, HARMLESS, *CALLS)
    assert ran.code == 1
    assert "Not caught: no case catches bug.py" in ran.out
    assert "4. Open a pull request" in ran.out
    assert "conform fuzz -i plant:bug.py" in ran.out


def test_a_bug_that_only_warns_says_so(tmp_path):
    text = EXAMPLES["repaired.py"]
    ran = plant(tmp_path, text, "-k", "openai-chat/tool-calls/arguments-with-nan", "--deliver", "fast")
    assert ran.code == 0
    assert "They only warn" in ran.out


def test_a_case_that_fails_is_shown_with_a_trial_that_fails_not_with_one_that_warns(tmp_path):
    # In the broken streams, which are smaller, there is no count, and then 0 is a warning.
    text = """
def change_outcome(outcome):
    if outcome["usage"] is None:
        outcome["usage"] = {}
    outcome["usage"].update(input=0, output=0)
"""
    ran = plant(tmp_path, text, "-k", "google-generate/vertex/vertex-text")
    assert "google-generate/vertex/vertex-text  must, fail" in ran.out
    assert "usage.input: expected 18, got 0" in ran.out


def test_an_adapter_is_planted_as_it_is(tmp_path):
    text = (
        "def adapter(run):\n    for _ in run.chunks:\n        pass\n"
        '    return {"status": "complete", "content": [], "stop": {"reason": "stop"}}\n\n\n'
        'adapter.apis = ["ollama-chat"]\n'
    )
    ran = plant(tmp_path, text, "-k", "ollama-chat/text/plain-text", "--deliver", "fast")
    assert ran.code == 0, ran.out + ran.err


def test_a_document_that_catches_the_bug_is_shown_as_text(tmp_path):
    ran = plant(tmp_path, EXAMPLES["repaired.py"], "-k", "openai-chat/documents/malformed-arguments")
    assert ran.code == 0
    assert "book_table" in ran.out.partition("The smallest input that catches it")[2]


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("def change_outcome(outcome)\n    pass\n", 2, "bug.py:1: not Python: expected ':'"),
        ("def change_outcom(outcome):\n    pass\n", 2, "bug.py: it defines none of them; expected one of"),
        (HARMLESS + "decoders = {}\n", 2, "it defines `change_outcome` and `decoders`"),
        (
            "import nosuch\n" + HARMLESS,
            3,
            "bug.py:1: `--plant bug.py` cannot be imported: ModuleNotFoundError",
        ),
        ("apis = ['nosuch']\n" + HARMLESS, 3, "unknown API `nosuch`; expected one of anthropic-messages"),
        (
            "def change_outcome(outcome):\n    outcome['nosuch']\n",
            3,
            "At fault: bug.py itself, in [0-9]+ trials: KeyError: 'nosuch' \\(bug.py:2\\)",
        ),
    ],
)
def test_a_mistake_in_the_file_is_reported_with_its_line_and_no_traceback(tmp_path, text, code, reason):
    ran = plant(tmp_path, text, *CALLS)
    assert ran.code == code, ran.out + ran.err
    assert reason in ran.out + ran.err or re.search(reason, ran.out), ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize("words", [("-i", "reference"), ("--resume",), ("--lf",)])
def test_an_option_that_does_not_go_with_a_planted_bug_is_rejected(tmp_path, words):
    ran = plant(tmp_path, HARMLESS, *words)
    assert ran.code == 2
    assert "`--plant` judges the bug in its file; leave out" in ran.err


def test_the_path_of_the_file_may_have_any_characters(tmp_path):
    name = "a folder/100%25:1.py"
    words = ("--plant", name, "-k", "openai-chat/tool-calls/malformed-arguments", "--deliver", "fast")
    ran = Project(tmp_path, {name: EXAMPLES["repaired.py"]}).run("run", *words)
    assert ran.code == 0, ran.out + ran.err


def test_a_missing_file_is_a_usage_error(tmp_path):
    ran = Project(tmp_path).run("run", "--plant", "nosuch.py")
    assert ran.code == 2
    assert "no file `nosuch.py`" in ran.err


def test_a_bug_that_hangs_ends_in_time(tmp_path):
    text = "def change_outcome(outcome):\n    while True:\n        pass\n"
    ran = plant(tmp_path, text, *CALLS, "--timeout", "0.2", "--budget", "1")
    assert ran.code == 0, ran.out + ran.err
    assert "timed out" in ran.out
    assert "Out of time: " in ran.out


def test_a_quiet_run_prints_only_the_answer(tmp_path):
    ran = plant(tmp_path, EXAMPLES["repaired.py"], *CALLS, "-q")
    assert len(ran.out.splitlines()) == 1
    assert plant(tmp_path, HARMLESS, *CALLS, "-qq").out == ""
