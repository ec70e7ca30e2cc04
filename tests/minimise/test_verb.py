"""`conform minimise`: printed text, written files and exit codes."""

from __future__ import annotations

import pytest

from streamconform.resources import find_bundled
from streamconform_mutants import load as load_mutant
from streamconform_reference.adapter import adapter as reference

from ..cli.project import Project
from .searching import judge_case, run_search, write_case

CALL = "anthropic-messages/tool-use/no-arguments-empty-delta"
BROKEN = "mutant:empty-arguments-dropped"

ADAPTERS = {
    # Wrong about every call; sends Ctrl-C to its parent at the fourth run.
    "interrupting": """
import os, signal
from streamconform_reference.adapter import adapter as right
runs = []
def adapter(run):
    runs.append(1)
    if len(runs) == 4:
        os.kill(os.getppid(), signal.SIGINT)
    *_, last = right(run)
    last["outcome"]["stop"]["reason"] = "other"
    return last["outcome"]
adapter.capabilities = ["tool_calls"]
""",
    "raising": """
from streamconform_reference.adapter import adapter as right
def adapter(run):
    *_, last = right(run)
    return {**last["outcome"], "model": {}[last["outcome"]["content"][-1]["name"]]}
adapter.capabilities = ["tool_calls"]
""",
    "flaky": """
from streamconform_reference.adapter import adapter as right
runs = []
def adapter(run):
    runs.append(1)
    *_, last = right(run)
    if len(runs) < 4:
        last["outcome"]["stop"]["reason"] = "other"
    return last["outcome"]
adapter.capabilities = ["tool_calls"]
""",
    "over_http": """
import httpx
from types import SimpleNamespace
from streamconform_mutants import load
broken = load("empty-arguments-dropped")
CLIENT = httpx.Client(trust_env=False, timeout=5)
def adapter(run):
    response = CLIENT.post(run.base_url + "/v1/messages", json=run.request)
    received = dict(api=run.api, status=response.status_code, headers={}, chunks=[response.content])
    *_, last = broken(SimpleNamespace(**received, pricing=run.pricing))
    return last["outcome"]
adapter.inputs = ["http"]
adapter.capabilities = ["tool_calls"]
""",
}


SPECS = ("anthropic-messages/tool-use.yaml", "common/heal.yaml")
"""The only specs loaded here: loading the whole suite takes longer than a search."""


@pytest.fixture
def project(tmp_path):
    files = {f"{name}.py": text for name, text in ADAPTERS.items()}
    files |= {f"suite/{name}": (find_bundled("specs") / name).read_text("utf-8") for name in SPECS}
    files["conform.toml"] = f'specs = "suite"\ncassettes = "{find_bundled("cassettes")}"\n'
    return Project(tmp_path, files)


def test_the_written_case_runs(project):
    ran = project.run("minimise", CALL, "-i", BROKEN)
    assert (ran.code, ran.err) == (0, "")
    assert '"type":"tool_use"' in ran.out
    assert "content.1.tool_call.arguments" not in ran.out
    assert "content.0.tool_call.arguments: expected {}, got null" in ran.out
    folders = "--specs minimised/specs --cassettes minimised/cassettes"
    assert ran.last.startswith(f"reproduce: conform run {folders} -i {BROKEN} -k anthropic-messages/")
    arguments = ran.last.partition("conform ")[2].split()
    assert project.run(*arguments).code == 1
    arguments[arguments.index(BROKEN)] = "reference"
    assert project.run(*arguments, "--deliver", "full").code == 0
    assert project.run("lint", "--specs", "minimised/specs", "--cassettes", "minimised/cassettes").code == 0


def test_the_same_search_writes_the_same_bytes(project):
    outputs = []
    for _ in range(2):
        assert project.run("minimise", CALL, "-i", BROKEN).code == 0
        files = sorted(path for path in (project.folder / "minimised").rglob("*") if path.is_file())
        outputs.append({str(path.relative_to(project.folder)): path.read_bytes() for path in files})
    assert len(outputs[0]) == 3
    assert outputs[0] == outputs[1]
    text = " ".join(b"".join(outputs[0].values()).decode().split())
    assert f"recipe: conform minimise {CALL}@as-is -i {BROKEN}" in text


def test_format_markdown_with_no_write_prints_only_the_issue_text(project):
    ran = project.run("minimise", CALL, "-i", BROKEN, "--format", "markdown", "--no-write")
    assert ran.code == 0
    assert ran.out.startswith("### `anthropic-messages`: `content.*.tool_call.arguments` fails\n")
    assert "```text\nevent: message_start\ndata: {" in ran.out
    assert not (project.folder / "minimised").exists()


def test_ctrl_c_writes_the_smallest_stream_so_far(project):
    ran = project.run("minimise", CALL, "-i", "python:interrupting:adapter")
    assert ran.code == 130
    assert "interrupted, so a smaller stream may exist" in ran.out
    assert [*(project.folder / "minimised/specs").rglob("*.yaml")]


@pytest.mark.parametrize(("limit", "spent"), [(("--max-trials", "3"), "in 3 trials")])
def test_a_spent_budget_prints_the_smallest_stream_so_far(project, limit, spent):
    ran = project.run("minimise", CALL, "-i", BROKEN, *limit)
    assert ran.code == 0
    assert f"{spent}; interrupted, so a smaller stream may exist" in ran.out


def test_the_smallest_stream_that_raises_is_found(project):
    ran = project.run("minimise", CALL, "-i", "python:raising:adapter")
    assert ran.code == 0
    assert "Fails at faulted" in ran.out
    assert '"type":"tool_use"' in ran.out


def test_a_flaky_failure_is_reported(project):
    ran = project.run("minimise", CALL, "-i", "python:flaky:adapter", "--no-write")
    assert "not deterministic: " in ran.out


def test_an_http_client_is_minimised(project):
    ran = project.run("minimise", CALL, "-i", "python:over_http:adapter")
    assert ran.code == 0, ran.err
    assert "5 frames" in ran.out
    assert "expected {}, got null" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((CALL,), 2, "Missing --impl (and no `impl` in conform.toml)"),
        ((CALL, "-i", "reference"), 2, "nothing to minimise: `anthropic-messages/"),
        ((f"{CALL}@whole", "-i", "reference"), 2, "@whole passes for `reference`"),
        (
            (CALL, "-i", BROKEN, "--check", "usage.input"),
            2,
            "does not fail at `usage.input`, but at content.",
        ),
        ((f"{CALL}@reset", "-i", BROKEN), 2, "a cassette cannot represent a broken connection"),
        (
            ("common/heal/json-text", "-i", BROKEN),
            2,
            "tests a function, and only streams can be minimised; its input is in ",
        ),
        (("no-such-case-anywhere", "-i", BROKEN), 2, "no case `no-such-case-anywhere`"),
        ((CALL, "-i", "python:nowhere:adapter"), 3, "no module `nowhere`"),
    ],
)
def test_a_usage_error_is_one_clear_message(project, arguments, code, message):
    ran = project.run("minimise", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_failure_of_chunking_keeps_the_fewest_chunks(tmp_path):
    search = run_search("anthropic-messages/thinking/thinking-unicode@utf8-split", "mutant:utf8-per-chunk")
    written = write_case(tmp_path, search)
    assert len(written.cassette.marks) == 2
    assert judge_case(written, load_mutant("utf8-per-chunk"), ("as-is", "whole")) == {
        "as-is": "fail",
        "whole": "pass",
    }
    assert judge_case(written, reference) == {"as-is": "pass"}


def test_a_cut_stream_stays_cut(tmp_path):
    search = run_search(f"{CALL}@cut-after-frame", "mutant:eof-as-success")
    assert search.best.reading.outcome.status == "incomplete"
    written = write_case(tmp_path, search)
    assert judge_case(written, reference) == {"as-is": "pass"}
