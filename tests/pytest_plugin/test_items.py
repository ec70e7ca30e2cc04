"""`pytest --conform-impl …` makes every trial an item."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import streamconform
from streamconform.model.trial import SAMPLED

from .project import CONFIG, TRIALS, made

TEXT = "anthropic-messages/text"
FIRST = f"{TEXT}/single-text-block"
KNOWN = """\
known-failures: 1
entries:
  - {match: %s, verdict: fail, reason: it moved, issue: "a#1"%s}
"""
QUIET = "import sys, pytest\ncode = pytest.main(sys.argv[1:])\n"
LOADED = "print(sorted(name for name in sys.modules if name.startswith('streamconform')))\n"


@pytest.fixture
def tests(tmp_path):
    return made(tmp_path)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run over parsers of every kind."""
    impls = [
        f"--conform-impl={name}" for name in ("good", "wrong", "loose", "crash", "hang", "other", "client")
    ]
    return made(tmp_path_factory.mktemp("items")).pytest(*impls, "-v", "-rsf", "--assert=rewrite")


def of(ran, impl):
    """The results of one implementation's trials."""
    head = f"conform::{impl}::"
    return {id_.removeprefix(head): end for id_, end in ran.items.items() if id_.startswith(head)}


def test_every_trial_of_every_implementation_is_an_item_beside_the_tests_that_are_there(ran):
    assert of(ran, "good") == dict.fromkeys(TRIALS, "PASSED")
    assert "test_mine.py::test_mine PASSED" in ran.out


def test_a_failing_trial_shows_the_difference_and_nothing_of_ours(ran):
    failed = [id_ for id_, end in of(ran, "wrong").items() if end != "PASSED"]
    assert failed == [f"{FIRST}@as-is", f"{FIRST}@bytewise"]
    assert re.search(r'^content\.0\.text: expected "Nairobi.*", got "Mombasa"$', ran.out, re.MULTILINE)
    assert f"relevant frames: 3-6; to see them: `conform explain {FIRST}@as-is -i wrong --specs" in ran.out
    assert f"reproduce: conform run -i wrong -k {FIRST}@as-is" in ran.out
    assert f"FAILED conform::wrong::{FIRST}@as-is - Failed: content.0.text: expected" in ran.out
    assert "Traceback" not in ran.out
    assert "pytest/items.py" not in ran.out


@pytest.mark.parametrize(
    ("impl", "failed", "words"),
    [
        ("crash", [trial for trial in TRIALS if "bytewise" in trial], "exit code 3): out of luck"),
        ("hang", [f"{FIRST}@as-is", f"{FIRST}@bytewise"], "no answer in 2 s"),
    ],
)
def test_a_crash_or_a_hang_fails_its_own_item_only(ran, impl, failed, words):
    assert [id_ for id_, end in of(ran, impl).items() if end == "FAILED"] == failed
    assert set(of(ran, impl).values()) == {"PASSED", "FAILED"}
    assert words in ran.out


def test_the_trials_of_an_api_that_is_not_claimed_are_no_items(ran):
    assert of(ran, "other") == {}
    assert "`other` claims none of the selected APIs (its `apis`)" in ran.out


def test_a_client_is_judged_over_http(ran):
    assert of(ran, "client") == dict.fromkeys(TRIALS, "PASSED")


def test_a_warning_passes_and_is_counted(tests):
    ran = tests.pytest("--conform-impl=loose", "-k", "start-text-not-empty", "-rP", "-q")
    assert (ran.code, ran.counts) == (0, {"passed": 2, "deselected": 7})
    assert "conform: 2 warnings: " in ran.out
    assert ran.out.count("conform warning") == 2
    assert "content.0.text: expected" in ran.out


def test_known_failures_xfail_strictly(tests):
    path = "known.yaml"
    with_reason = ("-v", "-rx", f"--conform-known-failures={path}")
    tests = tests.with_file(path, KNOWN % (FIRST, ""))
    tests.write()
    ran = tests.pytest("conform::", "--conform-impl=wrong", "--conform-impl=good", *with_reason)
    assert ran.counts == {"passed": 13, "xfailed": 2, "failed": 2}
    assert f"XFAIL conform::wrong::{FIRST}@as-is - it moved" in ran.out
    assert f"[XPASS(strict)] it passes, but {path}:3 lists it as a known failure (it moved)" in ran.out
    ran = tests.pytest("conform::", "--conform-impl=wrong", *with_reason, "--runxfail")
    assert ran.counts == {"failed": 2, "passed": 6}


@pytest.mark.parametrize(
    ("match", "more", "words"),
    [
        (FIRST, ', expires: "2001-01-01"', "expired on 2001-01-01"),
        ("anthropic-messages/text/renamed", "", "matches nothing in the suite"),
    ],
    ids=["expired", "unmatched"],
)
def test_an_untrue_entry_fails_the_item_of_its_file(tests, match, more, words):
    text = CONFIG.replace("[tool.conform]", '[tool.conform]\nknown_failures = "known.yaml"')
    tests = tests.with_file("known.yaml", KNOWN % (match, more)).with_file("pyproject.toml", text)
    tests.write()
    ran = tests.pytest("conform::known-failures", "--conform-impl=wrong", "-v")
    assert ran.items == {"conform::known-failures::known.yaml": "FAILED"}
    assert "known.yaml:3: " in ran.out
    assert words in ran.out


def test_pytest_selects_stops_and_repeats_as_ever(tests):
    impl = "--conform-impl=wrong"
    assert tests.pytest(impl, "-m", "not conform").counts == {"passed": 1, "deselected": 8}
    ran = tests.pytest(impl, "-x", "-v")
    assert ran.counts == {"failed": 1, "passed": 1}
    ran = tests.pytest(impl, "--lf", "-v")
    assert list(ran.items) == [f"conform::wrong::{FIRST}@as-is"]
    ran = tests.pytest(impl, "-n", "2", "-q")
    assert ran.counts == {"failed": 2, "passed": 7}
    assert "Mombasa" in ran.out


def test_a_node_id_is_all_that_is_needed_to_run_it_again(tests):
    wrong = f"conform::wrong::{TEXT}/unicode-scripts@bytewise"
    ran = tests.pytest(f"conform::good::{FIRST}", wrong, "-v")
    assert ran.items == dict.fromkeys((*(f"conform::good::{id_}" for id_ in TRIALS[:2]), wrong), "PASSED")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--conform-impl=absent",), 2, "`absent` cannot be used: no module `absent`"),
        (("--conform-impl=what:is:this",), 4, "unknown form `what:`"),
        (("--conform-impl=good", "--conform-deliver=slow"), 4, "`deliver` is `slow`; expected one of fast,"),
        (("--conform-impl=good", "--conform-select=a/b/c"), 2, "`-k a/b/c` matches no trial"),
        (("--conform-impl=good", "conform::good::a/b/c@as-is"), 2, "not found: good::a/b/c@as-is"),
        (("--conform-impl=good", "--conform-input=push"), 2, "`good` supports only `bytes` (its `inputs`)"),
        (("--conform-impl=cmd:true", "--conform-in-process"), 4, "`cmd:true` is a program"),
    ],
    ids=lambda value: value[-1].removeprefix("--conform-") if isinstance(value, tuple) else None,
)
def test_a_mistake_is_said_and_is_no_traceback(tests, words, code, message):
    ran = tests.pytest(*words)
    assert ran.code == code
    assert message in ran.out
    assert "Traceback" not in ran.out


def test_the_limit_for_the_greeting_comes_from_the_config_file(tests):
    tests = tests.with_file("pyproject.toml", CONFIG + "start_timeout = 0.5\n")
    tests.write()
    ran = tests.pytest(f"--conform-impl=cmd:{sys.executable} -S -c 'import time; time.sleep(60)'")
    assert "no greeting within 0.5 s" in ran.out


def test_settings_are_keys_of_the_ini_file_too(tests):
    some = "[pytest]\nconform_impl =\n  good\n  wrong\nconform_select =\n  **/single-text-block\n"
    more = "conform_known_failures =\n  lists/known.yaml\nconform_deliver = standard\nconform_faults = none\n"
    tests = tests.with_file("pytest.ini", some + more).with_file("lists/known.yaml", KNOWN % (FIRST, ""))
    tests.write()
    ran = tests.pytest("conform::wrong", "-v")
    must = {status for id_, status in ran.items.items() if id_.partition("@")[2] not in SAMPLED}
    assert must == {"XFAIL"}
    assert f"conform::wrong::{FIRST}@crlf" in ran.items
    assert {id_.partition("@")[0] for id_ in ran.items} == {f"conform::wrong::{FIRST}"}


def test_an_adapter_in_the_process_can_be_stopped_in(tests):
    ran = tests.pytest(f"conform::stops::{FIRST}@as-is", "--pdb", stdin="p 'it is ' + run.api\nc\n")
    assert (ran.code, ran.counts) == (0, {"passed": 1}), ran.out
    assert "it is anthropic-messages" in ran.out


def test_the_debugger_stands_where_the_adapter_raised(tests):
    ran = tests.pytest(f"conform::raises::{FIRST}@as-is", "--pdb", stdin="p secret\nq\n")
    assert "'it is anthropic-messages'" in ran.out
    assert "adapter error: ValueError: cannot read this" in ran.out


def test_in_the_process_the_same_comes_out(tests):
    impls = [f"--conform-impl={name}" for name in ("good", "client", "wrong", "raises")]
    apart, inside = (tests.pytest("conform::", "-v", *impls, *how) for how in ((), ("--conform-in-process",)))
    assert apart.items == inside.items
    assert "Captured stdout" not in apart.out
    assert "Captured stdout" in inside.out


@pytest.mark.parametrize("words", [("--help",), ("-q", "test_mine.py")], ids=["help", "run"])
def test_nothing_of_ours_is_loaded_until_it_is_requested(tests, words):
    (point,) = (each for each in entry_points(group="pytest11") if each.name == "conform")
    assert point.value == "streamconform.pytest.plugin"
    done = subprocess.run(
        (sys.executable, "-c", QUIET + LOADED, *words),
        cwd=tests.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    names = ["", "._version", ".pytest", ".pytest.plugin"]
    assert done.stdout.splitlines()[-1] == str([f"streamconform{name}" for name in names])
    assert words != ("--help",) or "--conform-impl=IMPL" in done.stdout


def test_the_modules_of_the_plugin_import_each_other_in_one_direction():
    """Imports inside functions count too, because they only hide a cycle."""
    folder = Path(streamconform.__file__).parent / "pytest"
    left = {
        path.stem: set(
            re.findall(r"^\s*from streamconform\.pytest\.(\w+) import", path.read_text("utf-8"), re.MULTILINE)
        )
        for path in folder.glob("*.py")
    }
    while free := [name for name, imports in left.items() if not imports & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"a cycle among {sorted(left)}"
