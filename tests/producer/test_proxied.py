"""`conform run --impl proxy:…` against real proxies: a right one passes, every planted mistake is named."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamconform.adapters.connect import connect
from streamconform.adapters.proxy_address import MODEL, ProxyAddress, parse_address
from streamconform.cli import main
from streamconform.errors import UsageError
from streamconform.model.case import Case
from streamconform.model.result import TrialResult
from streamconform.resources import find_bundled
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.plan import Settings
from streamconform.run.reading import read as read_results
from streamconform.run.single import SingleRunner
from streamconform.schemas import find_problems
from streamconform.suite.expand import make_trial
from streamconform.suite.load import Sources, collect

from .tiny_proxy import hostile, running

GOOD = "http://127.0.0.1:8082?from=anthropic-messages&to=ollama-chat&upstream=11434"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    verdicts: dict[str, str]
    """Trial, without its api and topic, to verdict."""
    failed: dict[str, set[str]]


Run = Callable[..., Ran]


@pytest.fixture
def port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: int = server.getsockname()[1]
        return taken


@pytest.fixture
def run(tmp_path: Path, monkeypatch: Any, capsys: Any, port: int) -> Run:
    """Return what runs the command as a user does, in this process."""
    monkeypatch.chdir(tmp_path)

    def ran(url: str, *words: str) -> Ran:
        impl = f"proxy:{url}?from=anthropic-messages&to=ollama-chat&upstream={port}"
        monkeypatch.setattr(sys, "argv", ["conform", "run", "-i", impl, *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        path = tmp_path / ".conform" / "results.jsonl"
        trials = read_results(path).trials if path.exists() else ()
        return Ran(
            int(ended.value.code or 0),
            said.out,
            said.err,
            {each.id.rpartition("/")[2]: each.verdict for each in trials},
            {
                each.id.rpartition("/")[2]: {check.path for check in each.checks if check.verdict == "fail"}
                for each in trials
                if each.verdict == "fail"
            },
        )

    return ran


def chosen(*cases: str) -> Iterator[str]:
    for case in cases:
        yield from ("-k", f"ollama-chat/*/{case}")


def test_a_right_proxy_passes(tmp_path, port, run):
    names = ("thinking-text-call", "parallel-over-records", "length", "error-mid-text", "unicode-text")
    with running(port) as url:
        seen = run(url, *chosen(*names), "--deliver", "fast", "--faults", "one")
    assert (seen.code, seen.failed) == (0, {}), seen.out + seen.err
    kinds = {id_.partition("@")[2].partition(".")[0] for id_ in seen.verdicts}
    assert kinds >= {
        "recorded",
        "bytewise",
        "cut-after-frame",
        "cut-inside-json",
        "error-frame",
        "reset",
        "stall",
    }
    lines = (tmp_path / ".conform" / "results.jsonl").read_text("utf-8").splitlines()
    assert [problem for line in lines for problem in find_problems("results.v1", json.loads(line))] == []


BROKEN = {
    "end_turn after a cut": ("plain-text", "cut-after-frame", "status"),
    "error swallowed": ("error-mid-text", "recorded", "status"),
    "second call dropped": ("parallel-over-records", "recorded", "content.length"),
    "calls hidden": ("one-call", "recorded", "grammar.stop-fits-calls"),
    "thinking lost": ("thinking-then-text", "recorded", "content.length"),
    "arguments twice": ("one-call", "recorded", "grammar.arguments-parse"),
    "wrong index": ("thinking-text-call", "recorded", "grammar.block-start-once"),
    "[DONE]": ("plain-text", "recorded", "grammar.no-done-marker"),
    "whole at once": ("plain-text", "recorded", "invariant.streaming"),
    "tools forgotten": ("one-call", "recorded", "upstream.tools"),
    "refusal without a document": ("http-404-model", "recorded", "refusal.json"),
}


@cache
def cases() -> dict[str, Case]:
    """Return the streams of Ollama by name; what the command does beside this takes longer."""
    sources = Sources(find_bundled("specs"), find_bundled("cassettes"))
    found = collect(sources, (sources.specs / "ollama-chat").glob("*.yaml")).cases
    return {case.id.rpartition("/")[2]: case for case in found if isinstance(case, Case)}


def judged(url: str, port: int, case: str, delivery: str = "recorded", seconds: float = 60) -> TrialResult:
    trial = make_trial(cases()[case], delivery, 0)
    impl = f"proxy:{url}?from=anthropic-messages&to=ollama-chat&upstream={port}"

    async def judging() -> TrialResult:
        single = SingleRunner(connect(impl), Settings(workers=1, timeout=seconds), Blame(load_snapshots()))
        try:
            await single.begin((trial,))
            return await single.judge(trial)
        finally:
            await single.end()

    return asyncio.run(judging())


def failed(result: TrialResult) -> set[str]:
    return {check.path for check in result.checks if check.verdict == "fail"}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_planted_mistake_is_named(broken, port):
    case, delivery, path = BROKEN[broken]
    with running(port, broken) as url:
        result = judged(url, port, case, delivery)
    assert (result.verdict, result.culprit) == ("fail", "implementation")
    assert path in failed(result)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def test_what_is_no_http_is_told(port):
    with hostile(b"SSH-2.0-OpenSSH_9.6\r\n") as url:
        result = judged(url, port, "plain-text")
    assert result.verdict == "faulted"
    assert "gave no HTTP answer" in (result.reason or "")


def test_a_proxy_that_is_silent_is_a_hang(port):
    with hostile(HEAD, silent=True) as url:
        assert judged(url, port, "plain-text", seconds=0.5).verdict == "hang"


def test_an_answer_without_end_is_read_up_to_a_bound(port):
    lines = (b":" + b"x" * 1023 + b"\n") * 1024
    with hostile(HEAD, *([lines] * 40)) as url:
        assert judged(url, port, "plain-text").verdict == "fail"


def test_an_answer_that_asked_nobody_does_not_pass(port):
    frame = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    with hostile(HEAD, frame) as url:
        result = judged(url, port, "plain-text")
    assert "grammar.start-first" in failed(result)
    assert "no request arrived" in (result.reason or "")


def test_bytes_that_are_no_stream_do_not_pass(port):
    with hostile(HEAD, bytes(range(256)) * 40) as url:
        assert judged(url, port, "plain-text").verdict == "fail"


def test_where_nobody_listens_nothing_is_judged(port, run):
    seen = run("http://127.0.0.1:9", *chosen("plain-text"))
    assert seen.code == 3
    assert f"start the proxy, its upstream http://127.0.0.1:{port}" in seen.err


def test_a_port_that_is_taken_is_told(port, run):
    with running(port) as url, socket.create_server(("127.0.0.1", port)):
        seen = run(url, *chosen("plain-text"))
    assert seen.code == 3
    assert f"port {port}, where the upstream is to be played" in seen.err


def test_a_known_failure_names_a_rule_and_goes_stale(tmp_path, port, run):
    entry = (
        "  - match: ollama-chat/text/plain-text@*:grammar.no-done-marker\n"
        "    verdict: fail\n    reason: it ends like another api\n    issue: https://example.org/1\n"
    )
    (tmp_path / "known.yaml").write_text(f"known-failures: 1\nentries:\n{entry}", "utf-8")
    words = (*chosen("plain-text"), "--deliver", "fast", "--known-failures", "known.yaml")
    with running(port, "[DONE]") as url:
        listed = run(url, *words)
    with running(port) as url:
        mended = run(url, *words)
    assert (listed.code, set(listed.verdicts.values())) == (0, {"known"}), listed.out + listed.err
    assert (mended.code, set(mended.verdicts.values())) == (1, {"stale"}), mended.out + mended.err


def test_an_address_says_what_stands_between_what():
    assert parse_address(GOOD) == ProxyAddress(
        "http://127.0.0.1:8082", "anthropic-messages", "ollama-chat", 11434, MODEL
    )
    assert parse_address(f"{GOOD}&model=llama3").model == "llama3"
    assert connect(f"proxy:{GOOD}").argv[-1] == GOOD


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("127.0.0.1:8082", "not an http or https URL"),
        ("ftp://127.0.0.1?from=anthropic-messages&to=ollama-chat&upstream=1", "not an http or https URL"),
        ("http://127.0.0.1:99999?from=anthropic-messages&to=ollama-chat&upstream=1", "Port out of range"),
        ("http://u:p@127.0.0.1?from=anthropic-messages&to=ollama-chat&upstream=1", "without user"),
        ("http://127.0.0.1:8082?from=anthropic-messages", "`to` is missing (in a shell"),
        ("http://127.0.0.1:8082?from=anthropic&to=ollama-chat&upstream=1", "`from=anthropic` is not an API"),
        (f"{GOOD}0000", "is not a port"),
        (f"{GOOD}&key=secret", "are allowed after the `?`"),
        (f"{GOOD}&to=openai-chat", "each once"),
    ],
)
def test_an_address_that_is_none_is_a_mistake_of_the_user(given, words):
    with pytest.raises(UsageError, match="expected `proxy:http") as raised:
        connect(f"proxy:{given}")
    assert words in str(raised.value)
