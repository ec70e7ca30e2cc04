"""The programs of findings: each client has one, the server sends the trial's bytes, the library reads it."""

from __future__ import annotations

import ast
import builtins
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
from click.testing import CliRunner
from msgspec import structs

from streamconform.errors import SelectionError
from streamconform.judge.request import compare_request
from streamconform.known_failures.model import KnownCause, KnownFailure
from streamconform.model.leaf import Literally
from streamconform.model.trial import AS_IS, Call, RoundTrip
from streamconform.model.verdict import Check
from streamconform.run.vendor import explain_foreign_case
from streamconform.suite.catalog import read_catalog
from streamconform.suite.expand import expand
from streamconform_dev.cli import finding
from streamconform_dev.finding.lookup import find_findings, find_issue, select_checks
from streamconform_dev.finding.program import write_program
from streamconform_dev.finding.render import render
from streamconform_dev.trials import may_match
from streamconform_peers import environments, node_runtime, snippet_templates
from streamconform_peers.findings import read_findings
from streamconform_peers.known import list_patterns, read_by_finding
from streamconform_peers.table import PEERS, Peer

from ..bundled_suite import SOURCES, cases, streams

DAILY = ("anthropic", "node-anthropic")
INSTALLED = [
    peer
    for peer in PEERS.values()
    if environments.read_environment(environments.get_environments_folder(), peer)
]
ECHO = {
    "python": """
import urllib.request

print(urllib.request.urlopen(url, b'{"a": 1}').read())
""",
    "javascript": """
const response = await fetch(url, { method: "POST", body: "{}" });
const decode = (piece) => JSON.stringify(Buffer.from(piece).toString("latin1"));
for await (const piece of response.body) console.log(__RECEIVED__decode(piece));
""",
}
"""Snippets that print the bytes of the server, without a library."""
REQUEST_FINDINGS = {
    "litellm": "result-of-a-failed-tool-does-not-report-the-failure",
    "langchain": "tool-image-is-sent-in-the-tool-message",
    "pydantic-ai": "tool-definitions-are-changed",
    "openai-agents": "max-tokens-is-sent-to-reasoning-models",
    "node-openai-agents": "openai-agents-js-call-without-arguments-is-not-run",
    "node-pi-ai": "pi-choice-of-one-tool-is-not-sent-to-gemini",
}
"""A finding about requests of each peer that sends conversations."""
ROUND_TRIP_FINDINGS = {
    "strands": "server-tools-of-gemini-are-dropped",
    "haystack": "text-is-sent-after-the-calls-of-its-answer",
    "google-genai": "chat-has-a-content-for-each-chunk",
    "node-google-genai": "chat-has-a-content-for-each-chunk",
    "node-pi-ai": "pi-server-tools-of-gemini-are-dropped",
}
"""A finding about round trips of each peer whose snippet has a conversation."""


@cache
def catalog():
    return read_catalog(SOURCES)


@cache
def plain_cases(api):
    """Return the complete streams with one text: those of the topic `text` first, the smallest first."""
    found = (case for case in streams() if case.api == api and case.level == "must" and find_word(case))
    return sorted(found, key=lambda case: ("/text/" not in case.id, len(case.cassette.body)))


def plain_trial(name, api):
    """Return the trial of the smallest stream that a peer reads, without known failures."""
    peer = PEERS[name]
    patterns = [entry.pattern for entries in read_by_finding(name).values() for entry in entries]
    case = next(
        case
        for case in plain_cases(api)
        if not any(
            may_match(pattern, case.id) for pattern in patterns if "@as-is" in pattern or "@*" in pattern
        )
        and (peer.vendor is None or explain_foreign_case(case, peer.vendor) is None)
    )
    (trial,) = expand((case,), (AS_IS,), "http", 0, "none")
    return trial


def find_word(case):
    """Return the last word of the answer, if the answer is one text and the word is in one piece."""
    status, content = case.expect.fields.get("status"), case.expect.content
    if status != Literally("complete") or content is None or len(content) != 1 or content[0].type != "text":
        return None
    text = content[0].fields.get("text")
    words = text.value.split() if isinstance(text, Literally) else []
    return words[-1] if words and words[-1].encode() in case.cassette.body else None


def find_undefined_names(program):
    """Return the names that a Python program reads, but neither defines nor imports."""
    nodes = [*ast.walk(ast.parse(program))]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined = {name.id for name in names if isinstance(name.ctx, ast.Store)} | set(dir(builtins))
    defined |= {
        node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    defined |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    defined |= {(each.asname or each.name).partition(".")[0] for node in imports for each in node.names}
    return {name.id for name in names} - defined


def run(program, folder, peer=None):
    """Return the output of a program, run with the environment of `peer`, or without any library."""
    on_node = "createServer" in program
    path = folder / ("program.mjs" if on_node else "program.py")
    path.write_text(program, "utf-8")
    command = (shutil.which("node"),) if on_node else (sys.executable, "-I")
    if peer is not None:
        root = environments.get_environments_folder()
        environment = environments.read_environment(root, peer)
        command = (str(node_runtime.find_runtime(root)),) if on_node else (str(environment.runtime), "-I")
        if on_node:
            (folder / "node_modules").symlink_to(environment.runtime)
    ran = subprocess.run(
        (*command, path), capture_output=True, text=True, timeout=120, cwd=folder, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def echo(tmp_path, monkeypatch):
    """Use a snippet of the test in place of each peer's own."""
    monkeypatch.setattr(Peer, "snippet", tmp_path / "snippet.yaml")

    def write(peer, api, **parts):
        code = {"code": ECHO[PEERS[peer].language], **parts}
        (tmp_path / "snippet.yaml").write_text(json.dumps({"snippet": 1, "apis": {api: code}}))

    return write


@pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
def test_every_api_of_a_peer_has_a_program_without_placeholders(peer):
    for api in peer.apis:
        trial = plain_trial(peer.name, api)
        program = write_program(peer, trial)
        assert snippet_templates.PLACEHOLDER.findall(program) == []
        assert peer.language == "javascript" or find_undefined_names(program) == set()


@pytest.mark.parametrize("name", REQUEST_FINDINGS)
def test_the_program_of_a_request_has_the_messages_of_the_conversation(name):
    peer = PEERS[name]
    trials = (find_findings(peer, catalog(), slug=slug)[slug] for slug in read_by_finding(name))
    trial = next(trial for trial in trials if isinstance(trial, Call | RoundTrip))
    program = write_program(peer, trial)
    if peer.language == "python":
        assert find_undefined_names(program) == set()
    assert snippet_templates.PLACEHOLDER.findall(program) == []
    case = trial.case
    conversation = case.input if isinstance(trial, Call) else case.conversation
    texts = [message["content"] for message in conversation["messages"] if message["role"] == "user"]
    assert [text for text in texts if isinstance(text, str) and text not in program] == []


def find_round_trip(name):
    slug = ROUND_TRIP_FINDINGS[name]
    return slug, find_findings(PEERS[name], catalog(), slug=slug)[slug]


@pytest.mark.parametrize("name", ROUND_TRIP_FINDINGS)
def test_the_program_of_a_round_trip_has_the_prompt_the_results_and_both_answers(name):
    _, trial = find_round_trip(name)
    program = write_program(PEERS[name], trial)
    in_javascript = PEERS[name].language == "javascript"
    literal = json.dumps if in_javascript else repr
    assert snippet_templates.PLACEHOLDER.findall(program) == []
    assert literal(trial.case.conversation["messages"][-1]["content"]) in program
    assert literal(trial.case.turns[0].results[0]["content"]) in program
    if in_javascript:
        lines = [
            json.loads(line.strip().removesuffix(","))
            for line in program.splitlines()
            if line.startswith('    "')
        ]
        assert "".join(lines).encode("latin-1") == b"".join(answer.body for answer in trial.answers)
        return
    assert find_undefined_names(program) == set()
    (streams,) = [node for node in ast.parse(program).body if isinstance(node, ast.Assign)][:1]
    assert ast.literal_eval(streams.value) == [answer.body for answer in trial.answers]


@pytest.mark.parametrize("change", [{"content": [{"type": "json", "value": 1}]}, None])
def test_a_round_trip_with_more_than_text_or_turns_has_no_program(change):
    _, trial = find_round_trip("strands")
    (turn,) = trial.case.turns
    turns = (structs.replace(turn, results=({**turn.results[0], **change},)),) if change else (turn, turn)
    changed = structs.replace(trial, case=replace(trial.case, turns=turns))
    with pytest.raises(SelectionError, match="choose another trial"):
        write_program(PEERS["strands"], changed)


def test_the_server_of_a_program_sends_the_bytes_of_the_trial(echo, tmp_path):
    echo("openai", "openai-chat")
    trial = plain_trial("openai", "openai-chat")
    assert run(write_program(PEERS["openai"], trial), tmp_path) == f"{trial.body!r}\n"


@pytest.mark.node
@pytest.mark.parametrize("delivery", ["as-is", "bytewise", "utf8-split"])
def test_the_server_of_a_program_on_node_sends_the_bytes_of_the_trial(echo, tmp_path, delivery):
    echo("node-openai", "openai-chat")
    (case,) = (case for case in cases() if case.id == "openai-chat/unicode/unicode-line-separators")
    (trial,) = (t for t in expand((case,), (delivery,), "http", 0, "none"))
    pieces = run(write_program(PEERS["node-openai"], trial), tmp_path).rstrip("\n").split("\n")
    assert "".join(map(json.loads, pieces)).encode("latin-1") == trial.body


@pytest.mark.node
@pytest.mark.slow
def test_the_program_of_a_delay_prints_when_each_piece_is_sent_and_received(echo, tmp_path):
    echo("node-openai", "openai-chat")
    trial = plain_trial("node-openai", "openai-chat")
    lines = run(write_program(PEERS["node-openai"], trial, timed=True), tmp_path).splitlines()
    verbs = [line.split()[2] for line in lines]
    assert verbs == ["sent", "received"] * len(trial.chunks)
    times = [float(line.split()[0]) for line in lines]
    assert all(later - earlier >= 0.3 for earlier, later in zip(times[::2], times[2::2], strict=False))


def test_a_delay_needs_a_snippet_that_prints_times(echo):
    echo("node-openai", "openai-chat", code="console.log(1);\n")
    with pytest.raises(SelectionError, match="no `__RECEIVED__`"):
        write_program(PEERS["node-openai"], plain_trial("node-openai", "openai-chat"), timed=True)


@pytest.mark.parametrize(
    ("name", "slug"),
    [(name, slug) for slug, each in read_findings().items() if each.timed for name in PEERS
     if slug in read_by_finding(name)],
)  # fmt: skip
def test_a_finding_about_a_delay_has_a_program_with_times(name, slug):
    trial = find_findings(PEERS[name], catalog(), slug=slug)[slug]
    assert '"received"' in write_program(PEERS[name], trial, timed=True)


def test_a_case_with_several_findings_lists_them():
    case = "google-generate/stop-reasons/other-reason"
    slugs = find_findings(PEERS["litellm"], catalog(), case)
    assert len(slugs) > 1
    with pytest.raises(SelectionError) as raised:
        find_issue(PEERS["litellm"], catalog(), SOURCES.specs, case=case, run=False)
    assert [slug for slug in slugs if slug not in str(raised.value)] == []
    for slug, trial in slugs.items():
        issue = find_issue(PEERS["litellm"], catalog(), SOURCES.specs, case=case, slug=slug, run=False)
        assert (issue.finding.slug, issue.trial.id) == (slug, trial.id)


def test_without_a_case_the_first_case_of_the_finding_is_used():
    slug = "missing-usage-is-estimated-and-parts-are-dropped"
    issue = find_issue(PEERS["litellm"], catalog(), SOURCES.specs, slug=slug, run=False)
    assert issue.trial.case.id == read_findings()[slug].cases[0]


def test_the_command_needs_a_case_or_a_finding():
    result = CliRunner().invoke(finding.command, ["peer:litellm"])
    assert str(result.exception) == "name a case, or a finding with `--finding`"


def test_the_command_writes_the_finding_with_its_program(tmp_path):
    path = tmp_path / "issue.md"
    slug = "missing-usage-is-estimated-and-parts-are-dropped"
    words = ["peer:litellm", "--finding", slug, "--no-run", "-o", str(path)]
    assert CliRunner().invoke(finding.command, words, catch_exceptions=False).exit_code == 0
    text = path.read_text("utf-8")
    assert text.startswith(f"# {read_findings()[slug].title}\n")
    assert "litellm.completion(" in text


def test_an_unknown_finding_gets_the_closest_name():
    with pytest.raises(SelectionError, match="did you mean `comment-line-in-the-stream-raises`"):
        find_findings(PEERS["google-genai"], catalog(), slug="comment-line-in-stream-raises")


def test_only_the_checks_of_the_finding_are_listed():
    (trial,) = find_findings(PEERS["openai"], catalog(), "openai-chat/tolerance/ids-and-comments").values()
    checks = [Check(path=path, level="must", verdict="fail") for path in ("usage.input", "status")]

    def select(slug, **patterns):
        entries = {
            name: [KnownFailure(match=trial.case.id + pattern, verdict="fail", reason="", issue="")]
            for name, pattern in patterns.items()
        }
        return [check.path for check in select_checks(checks, trial, slug, entries)]

    assert select("general", general="@*") == ["usage.input", "status"]
    assert select("general", general="@*", usage="@*:usage.*") == ["status"]
    assert select("usage", general="@*", usage="@*:usage.*") == ["usage.input"]
    assert select("usage", usage="@bytewise:usage.*") == []


def test_an_entry_for_a_cause_claims_the_checks_that_no_other_finding_names():
    (trial,) = find_findings(PEERS["openai"], catalog(), "openai-chat/tolerance/ids-and-comments").values()
    checks = [Check(path=path, level="must", verdict="fail") for path in ("usage.input", "status")]
    cause = KnownCause(cause="lost", api="openai-chat", trials=2, reason="", issue="", example=trial.id)
    usage = KnownFailure(match="**:usage.*", verdict="fail", reason="", issue="")
    selected = select_checks(checks, trial, "cause", {"cause": [cause], "usage": [usage]})
    assert [check.path for check in selected] == ["status"]


def test_the_trials_of_a_finding_are_those_of_its_entries_or_else_its_cases():
    example = KnownCause(cause="lost", api="a", trials=2, reason="", issue="", example="a/b/c@as-is")
    usage = KnownFailure(match="**:usage.*", verdict="fail", reason="", issue="")
    assert list_patterns((example, usage), ("a/b/d",)) == ("a/b/c@as-is", "**:usage.*")
    assert list_patterns((replace(example, example=None),), ("a/b/d",)) == ("a/b/d",)


def test_the_issue_of_a_request_has_the_expected_part_of_it():
    slug = "tool-results-to-ollama-do-not-name-their-tool"
    issue = find_issue(PEERS["litellm"], catalog(), SOURCES.specs, slug=slug, run=False)
    expected = render(issue).partition("## Expected")[2].partition("## Reproduce")[0]
    assert '"tool_name": "get_weather"' in expected


@pytest.mark.installed
@pytest.mark.slow
@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(peer, id=peer.name, marks=[] if peer.name in DAILY else pytest.mark.nightly)
        for peer in INSTALLED
    ],
)
def test_the_programs_of_an_installed_peer_print_the_answer_and_the_request(peer, tmp_path):
    trial = plain_trial(peer.name, peer.apis[0])
    assert find_word(trial.case) in run(write_program(peer, trial), tmp_path, peer)
    if peer.name in REQUEST_FINDINGS:
        slug = REQUEST_FINDINGS[peer.name]
        trial = find_findings(peer, catalog(), slug=slug)[slug]
        path, _, text = run(write_program(peer, trial), tmp_path, peer).partition(" ")
        request = {"path": path, "headers": {}, "body": json.loads(text)}
        checks = compare_request(trial.case.api, trial.case.expect, request, trial.level)
        failing = [check for check in checks if check.verdict in {"fail", "warn"}]
        assert select_checks(failing, trial, slug, read_by_finding(peer.name))
    if peer.name in ROUND_TRIP_FINDINGS:
        slug, trial = find_round_trip(peer.name)
        path, _, text = run(write_program(peer, trial), tmp_path, peer).rpartition("\n/")[2].partition(" ")
        request = {"path": f"/{path}", "headers": {}, "body": json.loads(text)}
        checks = compare_request(trial.case.api, trial.case.requests[0], request, trial.level)
        failing = [
            replace(check, path=f"request.{check.path}") for check in checks if check.verdict == "fail"
        ]
        assert select_checks(failing, trial, slug, read_by_finding(peer.name))
