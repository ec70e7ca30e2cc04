"""`conform run --impl proxy:…` passes a correct proxy and reports every planted mistake."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamconform.adapters.connect import connect
from streamconform.adapters.proxy_address import MODEL, ProxyAddress, parse_address
from streamconform.errors import UsageError
from streamconform.model.result import TrialResult
from streamconform.run.reading import read as read_results
from streamconform.run.run_folders import RUNS, find_latest_results, get_latest_results
from streamconform.schemas import find_problems

from ..cli.project import Project
from .tiny_proxy import serve_bytes, serve_proxy

ADDRESS = "http://127.0.0.1:8082?from=anthropic-messages&to=ollama-chat&upstream=11434"


@dataclass(frozen=True)
class RunOutput:
    code: int
    out: str
    err: str
    trials: tuple[TrialResult, ...]
    verdicts: dict[str, str]
    """By trial, without API and topic."""
    failed: dict[str, set[str]]


RunProxy = Callable[..., RunOutput]


@pytest.fixture
def port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
        return number


@pytest.fixture
def run(tmp_path: Path, port: int) -> RunProxy:
    """Return a function that runs the command."""

    def run_command(url: str, *arguments: str) -> RunOutput:
        impl = f"proxy:{url}?from=anthropic-messages&to=ollama-chat&upstream={port}"
        ran = Project(tmp_path).run("run", "-i", impl, *arguments)
        path = find_latest_results(tmp_path / RUNS)
        trials = () if path is None else read_results(path).trials
        return RunOutput(
            ran.code,
            ran.out,
            ran.err,
            trials,
            {trial.id.rpartition("/")[2]: trial.verdict for trial in trials},
            {
                trial.id.rpartition("/")[2]: {check.path for check in trial.checks if check.verdict == "fail"}
                for trial in trials
                if trial.verdict == "fail"
            },
        )

    return run_command


def select(*cases: str) -> Iterator[str]:
    for case in cases:
        yield from ("-k", f"ollama-chat/*/{case}")


def test_a_correct_proxy_passes(tmp_path, port, run):
    names = ("thinking-text-call", "parallel-over-records", "length", "error-mid-text", "unicode-text")
    with serve_proxy(port) as url:
        output = run(url, *select(*names), "--deliver", "fast", "--faults", "one")
    assert (output.code, output.failed) == (0, {}), output.out + output.err
    kinds = {id_.partition("@")[2].partition(".")[0] for id_ in output.verdicts}
    assert kinds >= {
        "as-is",
        "bytewise",
        "cut-after-frame",
        "cut-inside-json",
        "error-frame",
        "reset",
        "stall",
    }
    lines = get_latest_results(tmp_path / RUNS).read_text("utf-8").splitlines()
    assert [problem for line in lines for problem in find_problems("results.v1", json.loads(line))] == []


MISTAKES = {
    "end_turn after a cut": ("text/plain-text", "cut-after-frame.*", "status"),
    "error dropped": ("errors/error-mid-text", "as-is", "status"),
    "second call dropped": ("tool-use/parallel-over-records", "as-is", "content.length"),
    "wrong stop reason": ("tool-use/one-call", "as-is", "grammar.stop-fits-calls"),
    "thinking lost": ("thinking/thinking-then-text", "as-is", "content.length"),
    "arguments encoded twice": ("tool-use/one-call", "as-is", "grammar.arguments-parse"),
    "wrong index": ("thinking/thinking-text-call", "as-is", "grammar.block-start-once"),
    "[DONE]": ("text/plain-text", "as-is", "grammar.no-done-marker"),
    "one chunk": ("text/plain-text", "as-is", "invariant.streaming"),
    "tools dropped": ("tool-use/one-call", "as-is", "upstream.tools"),
    "error without a document": ("errors/http-404-model", "as-is", "refusal.json"),
}


@pytest.fixture
def judge_case(run: RunProxy) -> Callable[..., TrialResult]:
    """Return a function that judges a proxy on one trial."""

    def judge(url: str, case: str, delivery: str = "as-is", timeout: float = 60) -> TrialResult:
        trial = f"ollama-chat/{case}@{delivery}"
        (result,) = run(url, "-k", trial, "--faults", "one", "--timeout", str(timeout)).trials
        return result

    return judge


def list_failed(result: TrialResult) -> set[str]:
    return {check.path for check in result.checks if check.verdict == "fail"}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_reported(mistake, port, judge_case):
    case, delivery, path = MISTAKES[mistake]
    with serve_proxy(port, mistake) as url:
        result = judge_case(url, case, delivery)
    assert (result.verdict, result.culprit) == ("fail", "implementation")
    assert path in list_failed(result)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def test_a_proxy_without_http_is_reported(judge_case):
    with serve_bytes(b"SSH-2.0-OpenSSH_9.6\r\n") as url:
        result = judge_case(url, "text/plain-text")
    assert result.verdict == "faulted"
    assert "sent no HTTP answer" in (result.reason or "")


def test_a_silent_proxy_is_a_hang(judge_case):
    with serve_bytes(HEAD, silent=True) as url:
        assert judge_case(url, "text/plain-text", timeout=0.5).verdict == "hang"


def test_an_endless_answer_is_cut_at_the_size_limit(judge_case):
    lines = (b":" + b"x" * 1023 + b"\n") * 1024
    with serve_bytes(HEAD, *([lines] * 40)) as url:
        assert judge_case(url, "text/plain-text").verdict == "fail"


def test_an_answer_without_an_upstream_request_fails(judge_case):
    frame = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    with serve_bytes(HEAD, frame) as url:
        result = judge_case(url, "text/plain-text")
    assert "grammar.start-first" in list_failed(result)
    assert "no request arrived" in (result.reason or "")


def test_random_bytes_fail(judge_case):
    with serve_bytes(HEAD, bytes(range(256)) * 40) as url:
        assert judge_case(url, "text/plain-text").verdict == "fail"


def test_an_unreachable_proxy_exits_with_three(port, run):
    output = run("http://127.0.0.1:9", *select("plain-text"))
    assert output.code == 3
    assert f"start the proxy with the upstream http://127.0.0.1:{port}" in output.err


def test_an_upstream_port_in_use_is_reported(port, run):
    with serve_proxy(port) as url, socket.create_server(("127.0.0.1", port)):
        output = run(url, *select("plain-text"))
    assert output.code == 3
    assert f"cannot listen on port {port} as the proxy's upstream" in output.err


def test_a_known_failure_of_a_fixed_rule_is_stale(tmp_path, port, run):
    entry = (
        "  - match: ollama-chat/text/plain-text@*:grammar.no-done-marker\n"
        "    verdict: fail\n    reason: it ends like another api\n    issue: https://example.org/1\n"
    )
    (tmp_path / "known.yaml").write_text(f"known-failures: 1\nentries:\n{entry}", "utf-8")
    arguments = (*select("plain-text"), "--deliver", "fast", "--known-failures", "known.yaml")
    with serve_proxy(port, "[DONE]") as url:
        known = run(url, *arguments)
    with serve_proxy(port) as url:
        fixed = run(url, *arguments)
    assert (known.code, set(known.verdicts.values())) == (0, {"known"}), known.out + known.err
    assert (fixed.code, set(fixed.verdicts.values())) == (1, {"stale"}), fixed.out + fixed.err


def test_an_address_names_proxy_apis_and_upstream():
    assert parse_address(ADDRESS) == ProxyAddress(
        "http://127.0.0.1:8082", "anthropic-messages", "ollama-chat", 11434, MODEL
    )
    assert parse_address(f"{ADDRESS}&model=llama3").model == "llama3"
    assert connect(f"proxy:{ADDRESS}").argv[-1] == ADDRESS


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:8082", "must be an http or https URL"),
        ("ftp://127.0.0.1?from=anthropic-messages&to=ollama-chat&upstream=1", "must be an http or https URL"),
        ("http://127.0.0.1:99999?from=anthropic-messages&to=ollama-chat&upstream=1", "Port out of range"),
        ("http://u:p@127.0.0.1?from=anthropic-messages&to=ollama-chat&upstream=1", "without a user"),
        ("http://127.0.0.1:8082?from=anthropic-messages", "`to` is missing (in a shell"),
        ("http://127.0.0.1:8082?from=anthropic&to=ollama-chat&upstream=1", "`from=anthropic` is not an API"),
        (f"{ADDRESS}0000", "is not a port"),
        (f"{ADDRESS}&key=secret", "are allowed after the `?`"),
        (f"{ADDRESS}&to=openai-chat", "each at most once"),
    ],
)
def test_an_invalid_address_is_a_usage_error(address, message):
    with pytest.raises(UsageError, match="expected `proxy:http") as raised:
        connect(f"proxy:{address}")
    assert message in str(raised.value)
