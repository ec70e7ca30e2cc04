"""`list`, `explain`, `lint`, `schema`, `selftest`, and files with mistakes."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys

import pytest
import yaml

from streamconform.cli.verbs import load_verbs
from streamconform.model.case import BehaviorCase, RoundTripCase
from streamconform.suite.load import list_spec_files
from streamconform_dev.checkout import ROOT

from .. import bundled_suite

THREE_MISTAKES = """\
spec: 1
api: anthropic-messages
topic: mine
cases:
  - id: One
    title: An id that is no slug
    cassette: single-text-block
    expect: {status: complete, stop: stop, content: []}
  - id: two
    title: A status that does not exist
    cassette: single-text-block
    expect: {status: done, stop: stop, content: []}
  - id: three
    title: A key that nobody knows
    cassette: single-text-block
    expect: {status: complete, stop: stop, content: [], usages: {input: 1}}
"""
ONE_CASE = """\
spec: 1
api: anthropic-messages
topic: mine
cases:
  - id: one
    title: A case of a user's own
    cassette: one
    expect: {status: complete, stop: stop, content: [{text: "Hello"}]}
"""
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
NESTED = "a: " + "[" * 30_000 + "]" * 30_000 + "\n"
TAGGED = "spec: !!python/object/apply:os.system ['true']\n"


def own_suite(project, spec=ONE_CASE):
    """Return the project with its own specs and cassette."""
    home = project.folder / "cassettes/anthropic-messages"
    home.mkdir(parents=True)
    source = ROOT / "cassettes/anthropic-messages/single-text-block"
    shutil.copy(source.with_suffix(".sse"), home / "one.sse")
    meta = source.with_suffix(".yaml").read_text().replace("single-text-block.sse", "one.sse")
    (home / "one.yaml").write_text(meta)
    return project.with_file("specs/anthropic-messages/mine.yaml", spec)


def test_every_verb_has_help_and_says_it_in_one_line(project):
    for verb, row in load_verbs().items():
        ran = project.run(verb, "--help")
        assert ran.code == 0
        assert ran.out.startswith("Usage: "), verb
        assert row.summary.endswith(".")


def test_list_shows_id_level_and_title_of_every_case(project):
    ran = project.run("list", "--api", "cohere-chat")
    assert ran.code == 0
    assert "cohere-chat/text/plain-text " in ran.out
    listed = [line.split()[0] for line in ran.out.splitlines()]
    assert listed == [case.id for case in bundled_suite.cases() if case.api == "cohere-chat"]
    cases = json.loads(project.run("list", "--api", "cohere-chat", "--format", "json").out)
    assert [case["id"] for case in cases] == listed


def test_list_shows_what_an_input_mode_can_judge(project):
    ran = project.run("list", "--api", "cohere-chat", "--input", "push", "--format", "json")
    cases = json.loads(ran.out)
    over_http = RoundTripCase | BehaviorCase
    pushed = [case for case in bundled_suite.cases() if not isinstance(case, over_http)]
    assert [case["id"] for case in cases] == [case.id for case in pushed if case.api == "cohere-chat"]
    assert all(case["evidence"] or case["sources"] for case in cases)


def test_list_of_trials_names_each_delivery(project):
    ran = project.run(
        "list", "--trials", "-k", "anthropic-messages/tool-use/text-then-call", "--deliver", "fast"
    )
    assert [line.split()[0] for line in ran.out.splitlines()] == [
        "anthropic-messages/tool-use/text-then-call@as-is",
        "anthropic-messages/tool-use/text-then-call@bytewise",
    ]


def test_explain_shows_frames_events_and_expected_beside_actual(project):
    ran = project.run(
        "explain", "anthropic-messages/tool-use/text-then-call", "-i", "mutant:start-usage-kept"
    )
    assert ran.code == 0
    for part in ("message_start", "→ toolcall_start", "ok stop.reason", "verdict: pass", "evidence"):
        assert part in ran.out


def test_explain_shows_where_a_wrong_answer_parts(project):
    ran = project.run(
        "explain", "tool-use/interleaved-fragments@crlf", "-i", "mutant:interleaved-arguments-joined"
    )
    assert "fail content.0.tool_call.arguments" in ran.out
    assert "relevant frames: " in ran.out
    assert "verdict: fail" in ran.out


CUT_CHARACTERS = """
from streamconform_reference import adapter as reference

def adapter(run):
    run.chunks._chunks = [chunk.decode("utf-8", "replace").encode() for chunk in run.chunks._chunks]
    yield from reference(run)
"""


def test_explain_hands_the_bytes_over_as_the_delivery_does(project):
    """The answer depends on whether a chunk ends inside a character or each chunk is a frame."""
    made = project.with_file("mine.py", CUT_CHARACTERS)
    words = ("-i", "python:mine:adapter")
    whole, cut = (
        made.run("explain", f"anthropic-messages/text/unicode-scripts@{name}", *words)
        for name in ("as-is", "bytewise")
    )
    assert "verdict: pass" in whole.out
    assert "verdict: fail" in cut.out
    events = [line for line in cut.out.splitlines() if "→ text_delta" in line]
    assert len(events) > 3  # beside the frames still
    assert "北海道" in events[0]


def test_the_command_that_a_failure_names_explains_that_very_trial(project):
    made = project.with_file("mine.py", CUT_CHARACTERS)
    ran = made.run(
        "run", "-i", "python:mine:adapter", "-k", "anthropic-messages/text/unicode-scripts@bytewise"
    )
    (command,) = re.findall(r"reproduce: conform (explain .+)", ran.out)
    assert command == "explain anthropic-messages/text/unicode-scripts@bytewise -i python:mine:adapter"
    assert "verdict: fail" in made.run(*command.split()).out


ASTRAY = """
import httpx

def adapter(run):
    httpx.post(run.base_url + "/v1/complete", json={}, trust_env=False)
    return {"status": "error", "content": []}

adapter.inputs = ["http"]
"""


def test_explain_tells_what_was_wrong_with_the_request(project):
    made = project.with_file("mine.py", ASTRAY)
    ran = made.run("explain", "anthropic-messages/text/single-text-block", "-i", "python:mine:adapter")
    assert "verdict: adapter error, not-asked: the server got `POST /v1/complete`; expected" in ran.out


RAISES = """
def adapter(run):
    exec(compile("raise KeyError('delta')", "lib/read.py", "exec"), {"__name__": "lib.read"})

adapter.capabilities = []
"""


def test_explain_shows_the_exception_of_the_library_under_the_first_failed_check(project):
    made = project.with_file("mine.py", RAISES)
    ran = made.run("explain", "anthropic-messages/text/single-text-block", "-i", "python:mine:adapter")
    lines = [line.strip() for line in ran.out.splitlines()]
    position = lines.index("raised KeyError: 'delta' (lib/read.py:1 in <module>)")
    assert lines[position - 2].startswith("fail status")
    assert ran.out.count("raised KeyError") == 1


def test_explain_shows_the_last_lines_of_a_program_that_ended(project):
    code = "import sys, json; input(); print(json.dumps({'op': 'hello', 'protocol': 1, 'implementation': "
    code += "{'name': 'x'}}), flush=True); input(); sys.exit('one\\ntwo')\n"
    words = ("--", sys.executable, "-S", "mine.py")
    ran = project.with_file("mine.py", code).run(
        "explain", "anthropic-messages/text/single-text-block", *words
    )
    assert "      | one\n      | two\nverdict: adapter error" in ran.out


def test_explain_marks_the_frames_that_decided_and_where_events_departed(project):
    ran = project.run(
        "explain",
        "anthropic-messages/tool-use/interleaved-fragments",
        "-i",
        "mutant:interleaved-arguments-joined",
    )
    lines = ran.out.splitlines()
    marked = [int(line[1:5]) for line in lines if line.startswith(">")]
    assert marked == list(range(1, 13))
    (position,) = (i for i, line in enumerate(lines) if "! first wrong event" in line)
    assert lines[position - 1].split()[1] == "3"


def test_explain_marks_nothing_where_all_is_right(project):
    ran = project.run("explain", "anthropic-messages/tool-use/interleaved-fragments")
    assert not [line for line in ran.out.splitlines() if line.startswith((">", "  >"))]
    assert "! first wrong event" not in ran.out


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1", "TERM": "xterm"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_explain_has_colour_on_a_terminal_and_where_it_is_forced(project, environment, coloured):
    unset = {"NO_COLOR": "", "FORCE_COLOR": ""}
    words = ("explain", "anthropic-messages/tool-use/text-then-call", "-i", "mutant:unknown-event-fatal")
    ran = project.run(*words, environment={**unset, **environment})
    assert ("\x1b[3" in ran.out) == coloured


def test_explain_shows_a_body_without_frames_as_text(project):
    ran = project.run("explain", "anthropic-messages/errors/http-200-html-page")
    assert "<html" in ran.out


def test_schema_lists_and_prints_the_published_formats(project):
    names = [line.split()[0] for line in project.run("schema").out.splitlines()]
    assert "spec.v1" in names
    for name in names:
        assert json.loads(project.run("schema", name).out)["title"]


def test_selftest_lists_a_mutant_a_line_with_kind_and_bug(project):
    lines = project.run("dev", "selftest", "--list").out.splitlines()
    assert len(lines) >= 6
    assert all(re.fullmatch(r"[\w-]+ \([\w-]+\): .+", line) for line in lines)


def test_selftest_catches_a_mutant_and_says_by_how_many_cases(project):
    ran = project.run(
        "dev", "selftest", "--mutant", "eof-as-success", "-k", "anthropic-messages/truncation/**"
    )
    assert ran.code == 0
    assert ran.out.startswith("caught    eof-as-success")


def test_selftest_fails_when_a_mutant_survives(project):
    ran = project.run(
        "dev",
        "selftest",
        "--mutant",
        "eof-as-success",
        "-k",
        "anthropic-messages/text/**",
        "--faults",
        "none",
    )
    assert ran.code == 1
    assert ran.out.startswith("SURVIVES  eof-as-success")


def test_the_bundled_suite_has_no_problems(project):
    ran = project.run("lint", "--strict")
    assert (ran.code, ran.out) == (0, "")


def test_a_users_own_specs_and_cassettes_are_judged_like_the_bundled_ones(project):
    made = own_suite(project).with_file("conform.toml", 'specs = "specs"\ncassettes = "cassettes"\n')
    ran = made.run("run", "--deliver", "fast")
    assert ran.code == 1
    assert ran.last.startswith("Failed: 1 cause, in 2 of 2 trials")
    assert f"--specs {project.folder}/specs --cassettes {project.folder}/cassettes" in ran.out
    assert made.run("lint").code == 0


def test_lint_counts_the_cassettes_that_it_was_given(project):
    ran = project.run("lint", str(ROOT / "cassettes/openai-chat/parallel-calls.yaml"))
    assert (ran.code, ran.err) == (0, "1 cassette, no problems\n")


def test_a_spec_with_three_mistakes_shows_all_three_with_their_lines(project):
    ran = own_suite(project, THREE_MISTAKES).run("lint", "specs/anthropic-messages/mine.yaml")
    assert ran.code == 2
    found = [line.partition(": ")[0] for line in ran.out.splitlines()]
    assert found == [f"specs/anthropic-messages/mine.yaml:{line}" for line in (5, 12, 16)]


def test_a_run_over_broken_specs_shows_the_same_and_judges_nothing(project):
    ran = own_suite(project, THREE_MISTAKES).run("run", "--specs", "specs")
    assert ran.code == 2
    assert ran.err.count("mine.yaml:") == 3
    assert ran.out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "aliases are not allowed"),
        (NESTED, "nested deeper than 64 levels"),
        (TAGGED, "tags are not allowed"),
        ("spec: [1\n", "invalid YAML"),
        ("", "the file is empty"),
        ("spec: 1\nspec: 1\n", "duplicate key `spec`"),
    ],
)
def test_a_hostile_or_broken_file_is_one_clear_message(project, text, message):
    ran = own_suite(project, text).run("run", "--specs", "specs")
    assert ran.code == 2
    assert message in ran.err
    assert "mine.yaml" in ran.err
    assert "Traceback" not in ran.err


def test_a_body_that_was_changed_is_refused_with_both_digests(project):
    made = own_suite(project)
    body = project.folder / "cassettes/anthropic-messages/one.sse"
    body.write_bytes(body.read_bytes().replace(b"\n\n", b"\r\n\r\n"))
    ran = made.run("run", "--specs", "specs")
    assert ran.code == 2
    assert "`one.sse` was changed: its SHA-256 is " in ran.err


def test_a_body_that_is_missing_is_named(project):
    made = own_suite(project)
    (project.folder / "cassettes/anthropic-messages/one.sse").unlink()
    ran = made.run("run", "--specs", "specs")
    assert ran.code == 2
    assert "`one.sse`: No such file" in ran.err


def test_a_cassette_that_no_case_uses_is_reported_by_lint(project):
    made = own_suite(project)
    (project.folder / "cassettes/anthropic-messages/stray.sse").write_bytes(b"")
    ran = made.run("lint", "--specs", "specs")
    assert ran.code == 2
    assert "stray.sse: this file belongs to no cassette" in ran.out


def test_a_draft_is_refused_under_strict_only(project):
    draft = ONE_CASE.replace("    cassette: one\n", "    cassette: one\n    reviewed: false\n")
    made = own_suite(project, draft)
    assert made.run("lint", "--specs", "specs").code == 0
    ran = made.run("lint", "--specs", "specs", "--strict")
    assert ran.code == 2
    assert "is a draft" in ran.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1\n", "conform.toml:1: unknown key `colour`"),
        ('timeout = "long"\n', "conform.toml:1: `timeout` is 'long'; expected a number of seconds"),
        ("impl = [\n", "not TOML"),
    ],
)
def test_a_wrong_config_file_is_refused_by_line(project, text, message):
    ran = project.with_file("conform.toml", text).run("list")
    assert ran.code == 2
    assert message in ran.err


def test_the_command_line_wins_over_the_config_file(project):
    made = project.with_file("pyproject.toml", '[tool.conform]\nimpl = "nosuch"\ndeliver = "fast"\n')
    assert made.run("run", "-k", "anthropic-messages/tool-use/text-then-call").code == 3
    ran = made.run("run", "-i", "reference", "-k", "anthropic-messages/tool-use/text-then-call")
    assert ran.code == 0
    assert ran.last.startswith("No failures: 2 passed")


def test_every_bundled_spec_is_plain_yaml_for_other_readers_too():
    for path in list_spec_files(ROOT / "specs"):
        assert yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)["topic"] == path.stem


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{text: "a"}, {text: {matches: b}}]', "adjacent text blocks may be joined"),
        ('[{thinking: {signature: "x"}}]', "needs a `text`"),
    ],
)
def test_an_expectation_that_could_not_be_compared_is_refused_by_lint(project, content, message):
    ran = own_suite(project, ONE_CASE.replace('[{text: "Hello"}]', content)).run("lint", "--specs", "specs")
    assert ran.code == 2
    assert message in ran.out


def test_a_bundled_schema_is_printed_and_needs_a_name(project):
    ran = project.run("schema", "protocol.v1", "--bundle")
    assert (ran.code, "urn:streamconform:outcome" in ran.out) == (0, False)
    assert "outcome_v1" in json.loads(ran.out)["$defs"]
    assert project.run("schema", "--bundle").code == 2


def test_output_that_nobody_reads_to_its_end_is_no_failure_of_the_suite(tmp_path):
    command = (sys.executable, "-m", "streamconform", "list", "--trials", "--api", "openai-chat")
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as listing:
        listing.stdout.readline()
        listing.stdout.close()
        assert (listing.stderr.read(), listing.wait()) == ("", 128 + signal.SIGPIPE)
