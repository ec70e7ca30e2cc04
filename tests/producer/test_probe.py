"""`conform probe` against real servers: a legal one passes, and every planted mistake is named."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamconform.cli import main
from streamconform.run.reading import read
from streamconform.schemas import find_problems

from ..record.server import END, HEAD, Wait, chunk, replying
from .servers import APIS, MODEL, Broken, Json, serving


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    failed: dict[str, list[str]]
    """Question to the paths of the checks that failed."""
    warned: dict[str, list[str]]


Probe = Callable[..., Ran]


@pytest.fixture
def probe(tmp_path, monkeypatch, capsys) -> Probe:
    """Return what runs the command as a user does, in this process; it takes a second to start another."""
    for name in [each for each in os.environ if each.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run(url: str, *words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["conform", "probe", url, *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ran(tmp_path, ended.value.code, said.out, said.err)

    return run


def ran(folder: Path, code: Any, out: str, err: str) -> Ran:
    path = folder / ".conform" / "probe.jsonl"
    trials = read(path).trials if path.exists() else ()
    named = {
        verdict: {
            each.id.rpartition("/")[2]: [check.path for check in each.checks if check.verdict == verdict]
            for each in trials
            if any(check.verdict == verdict for check in each.checks)
        }
        for verdict in ("fail", "warn")
    }
    return Ran(code, out, err, named["fail"], named["warn"])


@pytest.mark.parametrize("api", APIS)
def test_a_legal_server_passes(api, tmp_path, probe):
    with serving(api) as server:
        seen = probe(server.base_url, "--api", api, "--model", MODEL, "--strict")
    assert (seen.code, seen.failed, seen.warned) == (0, {}, {}), seen.out + seen.err
    assert re.search(
        r"^No failures: .*, 1 skipped", seen.out, re.MULTILINE
    )  # the model does not think, and says so
    lines = (tmp_path / ".conform" / "probe.jsonl").read_text("utf-8").splitlines()
    assert [problem for line in lines for problem in find_problems("results.v1", json.loads(line))] == []
    assert {json.loads(line)["delivery"] for line in lines[1:-1]} == {None}


def without(kind: str, events: list[Json]) -> list[Json]:
    return [each for each in events if each.get("type") != kind]


def changed(match: Callable[[Json], bool], change: Callable[[Json], Json], events: list[Json]) -> list[Json]:
    return [change(each) if match(each) else each for each in events]


def of_type(kind: str) -> Callable[[Json], bool]:
    return lambda each: each.get("type") == kind


def at_index(number: int) -> Callable[[list[Json]], list[Json]]:
    return partial(changed, lambda each: "index" in each, lambda each: each | {"index": number})


def delta_behind_stop(events: list[Json]) -> list[Json]:
    stop = next(i for i, each in enumerate(events) if each["type"] == "content_block_stop")
    return [*events[: stop - 1], events[stop], events[stop - 1], *events[stop + 1 :]]


def half_arguments(delta: Json) -> Json:
    return delta | {"delta": {"type": "input_json_delta", "partial_json": "{"}}


def is_call_fragment(each: Json) -> bool:
    return each.get("delta", {}).get("type") == "input_json_delta"


def without_start_id(event: Json) -> Json:
    return event | {"content_block": event["content_block"] | {"id": ""}}


def is_call_start(each: Json) -> bool:
    return each.get("content_block", {}).get("type") == "tool_use"


ANTHROPIC = "anthropic-messages"
CHAT = "openai-chat"
MISTAKES = {
    "two starts": (
        ANTHROPIC,
        Broken(events=lambda events: [events[0], *events]),
        ("text", "grammar.one-message-start"),
    ),
    "no terminal event": (
        ANTHROPIC,
        Broken(events=partial(without, "message_stop")),
        ("text", "grammar.one-terminal"),
    ),
    "an index that begins at one": (
        ANTHROPIC,
        Broken(events=at_index(1)),
        ("text", "grammar.index-contiguous"),
    ),
    "a delta behind the stop": (
        ANTHROPIC,
        Broken(events=delta_behind_stop),
        ("tool-call", "grammar.no-delta-after-stop"),
    ),
    "no start of a block": (
        ANTHROPIC,
        Broken(events=partial(without, "content_block_start")),
        ("text", "grammar.block-start-before-delta"),
    ),
    "arguments that do not parse": (
        ANTHROPIC,
        Broken(events=partial(changed, is_call_fragment, half_arguments)),
        ("tool-call", "grammar.arguments-parse"),
    ),
    "a call without an id": (
        ANTHROPIC,
        Broken(events=partial(changed, is_call_start, without_start_id)),
        ("tool-call", "grammar.id-present"),
    ),
    "no usage": (
        ANTHROPIC,
        Broken(
            events=partial(
                changed,
                of_type("message_delta"),
                lambda each: {k: v for k, v in each.items() if k != "usage"},
            )
        ),
        ("text", "grammar.required-field.message_delta.usage"),
    ),
    "a done marker": (
        ANTHROPIC,
        Broken(body=lambda body: body + b"data: [DONE]\n\n"),
        ("text", "grammar.no-done-marker"),
    ),
    "the other vendor's error": (
        ANTHROPIC,
        Broken(refusal=lambda status, error: (status, json.dumps({"error": error["error"]}).encode())),
        ("bad-json", "error.type"),
    ),
    "a server error for bad input": (
        ANTHROPIC,
        Broken(refusal=lambda _, error: (b"500 Oops", json.dumps(error).encode())),
        ("no-messages", "http.status"),
    ),
    "a document without its id": (
        ANTHROPIC,
        Broken(document=lambda document: {k: v for k, v in document.items() if k != "id"}),
        ("text-at-once", "document.id"),
    ),
    "a count that leaves tools out": (
        ANTHROPIC,
        Broken(count=lambda _: {"input_tokens": 12}),
        ("count-tokens", "count.grows"),
    ),
    "a cut answer that says it ended": (
        CHAT,
        Broken(
            events=partial(
                changed,
                lambda each: "length" in str(each),
                lambda each: json.loads(json.dumps(each).replace('"length"', '"stop"')),
            )
        ),
        ("max-tokens", "answer.stop"),
    ),
    "no done marker in chat": (
        CHAT,
        Broken(events=lambda events: events[:-1]),
        ("text", "grammar.done-marker"),
    ),
    "no usage chunk": (
        CHAT,
        Broken(events=lambda events: [*events[:-2], events[-1]]),
        ("text", "grammar.usage-present"),
    ),
    "ids that change": (
        CHAT,
        Broken(events=lambda events: [each | {"id": f"c{i}"} for i, each in enumerate(events)]),
        ("text", "grammar.id-constant"),
    ),
    "no tool call where one is required": (
        CHAT,
        Broken(
            events=lambda events: [
                each for each in events if "tool_calls" not in str(each.get("choices", [{}])[:1])
            ]
        ),
        ("tool-call", "answer.calls"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake, probe):
    api, broken, (question, path) = MISTAKES[mistake]
    with serving(api, broken) as server:
        words = ("--api", api, "--model", MODEL, "-k", f"probe/{api}/{question}")
        seen = probe(server.base_url, *words)
    assert seen.code == 1, seen.out + seen.err
    assert path in seen.failed[question]
    assert f"reproduce: conform probe {server.base_url} --api {api} --model {MODEL} -k" in seen.out


def list_known(folder: Path, match: str) -> None:
    entry = {"match": match, "verdict": "fail", "reason": "not done yet", "issue": "example#12"}
    (folder / "known.yaml").write_text(json.dumps({"known-failures": 1, "entries": [entry]}), "utf-8")


def test_a_known_failure_does_not_fail_the_probe_and_a_mended_one_does(tmp_path, probe):
    broken = MISTAKES["no done marker in chat"][1]
    words = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--known-failures", "known.yaml")
    list_known(tmp_path, "probe/openai-chat/**:grammar.done-marker")
    with serving(CHAT, broken) as server:
        seen = probe(server.base_url, *words)
    assert (seen.code, "1 known" in seen.out) == (0, True), seen.out + seen.err
    with serving(CHAT) as server:
        seen = probe(server.base_url, *words)
    assert seen.code == 1
    assert "stale" in seen.out


def test_an_entry_that_matches_no_check_is_named(tmp_path, probe):
    list_known(tmp_path, "probe/openai-chat/**:grammar.nothing")
    with serving(CHAT) as server:
        words = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--known-failures", "known.yaml")
        seen = probe(server.base_url, *words)
    assert (seen.code, "unmatched" in seen.out) == (1, True), seen.out + seen.err


def test_reports_are_the_usual_ones(tmp_path, probe):
    with serving(CHAT, MISTAKES["ids that change"][1]) as server:
        words = ("--report", "junit=junit.xml", "--report", "markdown=report.md", "-k", "**/text")
        probe(server.base_url, "--api", CHAT, "--model", MODEL, *words)
    assert "grammar.id-constant" in (tmp_path / "junit.xml").read_text("utf-8")
    assert "grammar.id-constant" in (tmp_path / "report.md").read_text("utf-8")


def test_nobody_listening_is_said_and_ends_with_three(probe):
    with serving(CHAT) as server:
        url = server.base_url
    seen = probe(url, "--api", CHAT, "--model", MODEL)
    assert (seen.code, "cannot connect" in seen.err) == (3, True)
    assert "Traceback" not in seen.err


def test_an_answer_that_does_not_end_hangs(probe):
    slow = (HEAD + b"\r\n", chunk(b"data: {}\n\n"), Wait(20))
    with replying(lambda _: slow) as server:
        words = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--timeout", "0.3")
        seen = probe(server.base_url, *words)
    assert (seen.code, "1 timed out" in seen.out) == (1, True), seen.out + seen.err


def test_a_connection_that_breaks_off_is_no_whole_answer(probe):
    with replying(lambda _: (HEAD + b"\r\n", chunk(b"data: {}\n\n"))) as server:
        seen = probe(server.base_url, "--api", CHAT, "--model", MODEL, "-k", "**/text")
    assert "http.whole" in seen.failed["text"]


def test_what_is_no_http_is_the_server_s_fault(probe):
    with replying(*[lambda _: (b"what?\r\n",)] * 3) as server:
        seen = probe(server.base_url, "--api", CHAT, "--model", MODEL)
    assert seen.code == 3, seen.out + seen.err
    assert seen.failed == {"text": ["http.answer"], "text-at-once": ["http.answer"]}


def test_the_key_of_the_environment_is_sent_and_kept_nowhere(tmp_path, probe, monkeypatch):
    key = "sk-conform-0123456789abcdef"
    body = json.dumps({"error": {"message": f"no such key {key}", "type": "authentication_error"}}).encode()
    reply = HEAD.replace(b"200 OK", b"401 No").replace(b"text/event-stream", b"application/json")
    with replying(lambda _: (reply + b"\r\n", chunk(body), END)) as server:
        words = ("--api", CHAT, "--model", MODEL, "-k", "**/text")
        monkeypatch.setenv("OPENAI_API_KEY", key)
        seen = probe(server.base_url, *words)
    assert b"Bearer " + key.encode() in server.requests[0]
    assert (seen.code, seen.failed) == (1, {"text": ["http.status"]})
    kept = (tmp_path / ".conform" / "probe.jsonl").read_text("utf-8") + seen.out + seen.err
    assert key not in kept


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("ftp://127.0.0.1", "--api", CHAT), "URL is not an http or https URL"),
    (("http://me:pw@127.0.0.1", "--api", CHAT), "put keys into the environment"),
    (("http://127.0.0.1:9", "--api", CHAT, "-k", "nothing"), "matches no question; there are text"),
    (("http://127.0.0.1:9", "--api", "google-generate"), "add --model NAME"),
    (("http://127.0.0.1:9", "--api", CHAT, "--header", "authorization: x"), "carries a key"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_a_mistake_on_the_command_line_is_explained(words: tuple[Any, ...], said, probe):
    url, *rest = words
    seen = probe(url, *rest)
    assert (seen.code, said in seen.err) == (2, True), seen.err
