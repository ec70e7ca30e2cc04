"""`conform probe` passes a valid server and reports every planted mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streamconform.schemas import find_problems
from streamconform_capture.probe.probe import _Probe

from ..record.server import END, HEAD, Wait, chunk, replying
from .servers import APIS, MODEL, Json, ServerMistake, serve_api


@pytest.mark.parametrize("api", APIS)
def test_a_valid_server_passes(api, tmp_path, probe):
    with serve_api(api) as server:
        output = probe(server.base_url, "--api", api, "--model", MODEL, "--strict")
    assert (output.code, output.failed, output.warned) == (0, {}, {}), output.out + output.err
    # The model refuses to think, so that question is skipped.
    assert re.search(r"^No failures: .*, 1 skipped", output.out, re.MULTILINE)
    lines = (tmp_path / ".conform" / "probe.jsonl").read_text("utf-8").splitlines()
    assert [problem for line in lines for problem in find_problems("results.v1", json.loads(line))] == []
    assert {json.loads(line)["delivery"] for line in lines[1:-1]} == {None}


def test_a_question_whose_result_is_lost_is_a_bug(probe, monkeypatch):
    run_case, asked = _Probe._run_case, []

    def run_another(self, case):
        asked.append(case)
        return run_case(self, asked[0] if len(asked) == 2 else case)

    monkeypatch.setattr(_Probe, "_run_case", run_another)
    with serve_api("openai-chat") as server:
        output = probe(server.base_url, "--api", "openai-chat", "--model", MODEL)
    assert output.code == 4
    assert "The results do not add up" in output.out


def drop_events(kind: str, events: list[Json]) -> list[Json]:
    return [event for event in events if event.get("type") != kind]


def change_events(
    match: Callable[[Json], bool], change: Callable[[Json], Json], events: list[Json]
) -> list[Json]:
    return [change(event) if match(event) else event for event in events]


def match_type(kind: str) -> Callable[[Json], bool]:
    return lambda event: event.get("type") == kind


def set_index(number: int) -> Callable[[list[Json]], list[Json]]:
    return partial(change_events, lambda event: "index" in event, lambda event: event | {"index": number})


def move_delta_after_stop(events: list[Json]) -> list[Json]:
    stop = next(i for i, event in enumerate(events) if event["type"] == "content_block_stop")
    return [*events[: stop - 1], events[stop], events[stop - 1], *events[stop + 1 :]]


def cut_arguments(delta: Json) -> Json:
    return delta | {"delta": {"type": "input_json_delta", "partial_json": "{"}}


def is_call_fragment(event: Json) -> bool:
    return event.get("delta", {}).get("type") == "input_json_delta"


def clear_start_id(event: Json) -> Json:
    return event | {"content_block": event["content_block"] | {"id": ""}}


def is_call_start(event: Json) -> bool:
    return event.get("content_block", {}).get("type") == "tool_use"


ANTHROPIC = "anthropic-messages"
CHAT = "openai-chat"
MISTAKES = {
    "two starts": (
        ANTHROPIC,
        ServerMistake(events=lambda events: [events[0], *events]),
        ("text", "grammar.one-message-start"),
    ),
    "no terminal event": (
        ANTHROPIC,
        ServerMistake(events=partial(drop_events, "message_stop")),
        ("text", "grammar.one-terminal"),
    ),
    "indices from one": (
        ANTHROPIC,
        ServerMistake(events=set_index(1)),
        ("text", "grammar.index-contiguous"),
    ),
    "a delta after the stop": (
        ANTHROPIC,
        ServerMistake(events=move_delta_after_stop),
        ("tool-call", "grammar.no-delta-after-stop"),
    ),
    "no block start": (
        ANTHROPIC,
        ServerMistake(events=partial(drop_events, "content_block_start")),
        ("text", "grammar.block-start-before-delta"),
    ),
    "invalid arguments": (
        ANTHROPIC,
        ServerMistake(events=partial(change_events, is_call_fragment, cut_arguments)),
        ("tool-call", "grammar.arguments-parse"),
    ),
    "a call without an id": (
        ANTHROPIC,
        ServerMistake(events=partial(change_events, is_call_start, clear_start_id)),
        ("tool-call", "grammar.id-present"),
    ),
    "no usage": (
        ANTHROPIC,
        ServerMistake(
            events=partial(
                change_events,
                match_type("message_delta"),
                lambda event: {k: v for k, v in event.items() if k != "usage"},
            )
        ),
        ("text", "grammar.required-field.message_delta.usage"),
    ),
    "a done marker": (
        ANTHROPIC,
        ServerMistake(body=lambda body: body + b"data: [DONE]\n\n"),
        ("text", "grammar.no-done-marker"),
    ),
    "another vendor's error": (
        ANTHROPIC,
        ServerMistake(refusal=lambda status, error: (status, json.dumps({"error": error["error"]}).encode())),
        ("bad-json", "error.type"),
    ),
    "a server error for bad input": (
        ANTHROPIC,
        ServerMistake(refusal=lambda _, error: (b"500 Oops", json.dumps(error).encode())),
        ("no-messages", "http.status"),
    ),
    "a document without an id": (
        ANTHROPIC,
        ServerMistake(document=lambda document: {k: v for k, v in document.items() if k != "id"}),
        ("text-at-once", "document.id"),
    ),
    "a count without tools": (
        ANTHROPIC,
        ServerMistake(count=lambda _: {"input_tokens": 12}),
        ("count-tokens", "count.grows"),
    ),
    "a cut answer with reason stop": (
        CHAT,
        ServerMistake(
            events=partial(
                change_events,
                lambda event: "length" in str(event),
                lambda event: json.loads(json.dumps(event).replace('"length"', '"stop"')),
            )
        ),
        ("max-tokens", "answer.stop"),
    ),
    "no done marker in chat": (
        CHAT,
        ServerMistake(events=lambda events: events[:-1]),
        ("text", "grammar.done-marker"),
    ),
    "no usage chunk": (
        CHAT,
        ServerMistake(events=lambda events: [*events[:-2], events[-1]]),
        ("text", "grammar.usage-present"),
    ),
    "changing ids": (
        CHAT,
        ServerMistake(events=lambda events: [event | {"id": f"c{i}"} for i, event in enumerate(events)]),
        ("text", "grammar.id-constant"),
    ),
    "no required tool call": (
        CHAT,
        ServerMistake(
            events=lambda events: [
                event for event in events if "tool_calls" not in str(event.get("choices", [{}])[:1])
            ]
        ),
        ("tool-call", "answer.calls"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported(mistake, probe):
    api, server_mistake, (question, path) = MISTAKES[mistake]
    with serve_api(api, server_mistake) as server:
        arguments = ("--api", api, "--model", MODEL, "-k", f"probe/{api}/{question}")
        output = probe(server.base_url, *arguments)
    assert output.code == 1, output.out + output.err
    assert path in output.failed[question]
    assert f"reproduce: conform probe {server.base_url} --api {api} --model {MODEL} -k" in output.out


def set_input(document: Json) -> Json:
    (block,) = document["content"]
    changed = block | {"input": {"city": "Gra\ufffd"}} if "input" in block else block
    return document | {"content": [changed]}


CUT_CHARACTERS = {
    "text": (CHAT, ServerMistake(body=lambda body: body.replace(b"ur.", b"\xc3r."))),
    "unicode": (ANTHROPIC, ServerMistake(body=lambda body: body.replace(b"ur.", b"\\ud83dr."))),
    "nested-arguments": (
        ANTHROPIC,
        ServerMistake(body=lambda body: body.replace(b'\\"', b'\\"\xef\xbf\xbd', 1)),
    ),
    "text-at-once": (
        CHAT,
        ServerMistake(document=lambda document: json.loads(json.dumps(document).replace("ur.", "\\ufffdr."))),
    ),
    "tool-call-at-once": (ANTHROPIC, ServerMistake(document=set_input)),
}


@pytest.mark.parametrize("question", CUT_CHARACTERS)
def test_what_is_left_of_a_cut_character_is_reported(question, probe):
    api, mistake = CUT_CHARACTERS[question]
    with serve_api(api, mistake) as server:
        output = probe(server.base_url, "--api", api, "--model", MODEL, "-k", f"probe/{api}/{question}")
    assert "answer.characters" in output.warned[question], output.out


def write_known_failure(folder: Path, match: str) -> None:
    entry = {"match": match, "verdict": "fail", "reason": "not done yet", "issue": "example#12"}
    (folder / "known.yaml").write_text(json.dumps({"known-failures": 1, "entries": [entry]}), "utf-8")


def test_a_known_failure_does_not_fail_the_probe_and_a_fixed_one_does(tmp_path, probe):
    server_mistake = MISTAKES["no done marker in chat"][1]
    arguments = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--known-failures", "known.yaml")
    write_known_failure(tmp_path, "probe/openai-chat/**:grammar.done-marker")
    with serve_api(CHAT, server_mistake) as server:
        output = probe(server.base_url, *arguments)
    assert (output.code, "1 known" in output.out) == (0, True), output.out + output.err
    with serve_api(CHAT) as server:
        output = probe(server.base_url, *arguments)
    assert output.code == 1
    assert "stale" in output.out


def test_an_entry_that_matches_no_check_is_reported(tmp_path, probe):
    write_known_failure(tmp_path, "probe/openai-chat/**:grammar.nothing")
    with serve_api(CHAT) as server:
        arguments = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--known-failures", "known.yaml")
        output = probe(server.base_url, *arguments)
    assert (output.code, "unmatched" in output.out) == (1, True), output.out + output.err


def test_report_writes_junit_and_markdown(tmp_path, probe):
    with serve_api(CHAT, MISTAKES["changing ids"][1]) as server:
        arguments = ("--report", "junit=junit.xml", "--report", "markdown=report.md", "-k", "**/text")
        probe(server.base_url, "--api", CHAT, "--model", MODEL, *arguments)
    assert "grammar.id-constant" in (tmp_path / "junit.xml").read_text("utf-8")
    assert "grammar.id-constant" in (tmp_path / "report.md").read_text("utf-8")


def test_an_unreachable_server_exits_with_three(probe):
    with serve_api(CHAT) as server:
        url = server.base_url
    output = probe(url, "--api", CHAT, "--model", MODEL)
    assert (output.code, "cannot connect" in output.err) == (3, True)
    assert "Traceback" not in output.err


def test_an_answer_without_end_is_a_hang(probe):
    slow = (HEAD + b"\r\n", chunk(b"data: {}\n\n"), Wait(20))
    with replying(lambda _: slow) as server:
        arguments = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--timeout", "0.3")
        output = probe(server.base_url, *arguments)
    assert (output.code, "1 timed out" in output.out) == (1, True), output.out + output.err


def test_a_server_that_sends_nothing_is_a_hang(probe):
    with replying(lambda _: (Wait(20),)) as server:
        arguments = ("--api", CHAT, "--model", MODEL, "-k", "**/text", "--timeout", "0.3")
        output = probe(server.base_url, *arguments)
    assert "1 timed out" in output.out, output.out + output.err


def test_a_dropped_connection_fails_the_answer(probe):
    with replying(lambda _: (HEAD + b"\r\n", chunk(b"data: {}\n\n"))) as server:
        output = probe(server.base_url, "--api", CHAT, "--model", MODEL, "-k", "**/text")
    assert "http.whole" in output.failed["text"]


def test_a_server_without_http_fails(probe):
    with replying(*[lambda _: (b"what?\r\n",)] * 3) as server:
        output = probe(server.base_url, "--api", CHAT, "--model", MODEL)
    assert output.code == 3, output.out + output.err
    assert output.failed == {"text": ["http.answer"], "text-at-once": ["http.answer"]}


def test_the_key_is_sent_and_never_stored(tmp_path, probe, monkeypatch):
    key = "sk-conform-0123456789abcdef"
    body = json.dumps({"error": {"message": f"no such key {key}", "type": "authentication_error"}}).encode()
    reply = HEAD.replace(b"200 OK", b"401 No").replace(b"text/event-stream", b"application/json")
    with replying(lambda _: (reply + b"\r\n", chunk(body), END)) as server:
        arguments = ("--api", CHAT, "--model", MODEL, "-k", "**/text")
        monkeypatch.setenv("OPENAI_API_KEY", key)
        output = probe(server.base_url, *arguments)
    assert b"Bearer " + key.encode() in server.requests[0]
    assert (output.code, output.failed) == (1, {"text": ["http.status"]})
    stored = (tmp_path / ".conform" / "probe.jsonl").read_text("utf-8") + output.out + output.err
    assert key not in stored


USAGE_ERRORS: list[tuple[tuple[str, ...], str]] = [
    (("ftp://127.0.0.1", "--api", CHAT), "URL is not an http, https, ws or wss URL"),
    (("http://me:pw@127.0.0.1", "--api", CHAT), "put keys in environment variables"),
    (("http://127.0.0.1:9", "--api", CHAT, "-k", "nothing"), "matches no question; available: text"),
    (("http://127.0.0.1:9", "--api", "google-generate"), "add --model NAME"),
    (("http://127.0.0.1:9", "--api", CHAT, "--header", "authorization: x"), "carries a key"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE_ERRORS)
def test_a_mistake_on_the_command_line_is_explained(arguments: tuple[Any, ...], message, probe):
    url, *rest = arguments
    output = probe(url, *rest)
    assert (output.code, message in output.err) == (2, True), output.err
