"""Each mutant shows its bug, and fails only the checks it names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import streamconform_mutants
from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import Answer, assert_event_rules, decode
from streamconform_mutants import (
    MODULES,
    MUTANTS,
    behaviors,
    borders,
    every_api,
    load,
    long_events,
    sockets,
    websocket_frames,
)
from streamconform_reference import adapter as reference

from .samples import CALLS, SAMPLES

# Only some deliveries or cases of the suite fail these checks; the streams in this test do not.
OFTEN_IDLE = (
    "content.complete_calls",
    "invariant.**",
    "invariant.ended-calls",
    "invariant.last-usage",
    "invariant.event-schema",
    "invariant.outcome-schema",
    "invariant.every-block-told",
    "invariant.streaming",
    "error",
    "error.**",
    "error.message",
    "model",
    "response_id",
    ":stop",
)

IDLE = {
    # The suite compares the arguments of a call only if it is reported complete.
    ("truncated-call-executed", "**:content.*.tool_call.arguments"),
    # A parser that skips the error reads the content after it.
    ("error-record-ignored", "**:usage.**"),
    ("error-record-ignored", "**:cost.**"),
    ("error-record-ignored", "**:content.**"),
    # These give up in the middle of some streams of the suite, and here at the beginning or at the end.
    ("candidates-required", "**:content.**"),
    # No sampled stream ends at a stop sequence of several bytes per character.
    ("utf8-per-chunk", "**:stop.sequence"),
    ("empty-name-fatal", "**:usage.**"),
    ("empty-name-fatal", "**:cost.**"),
    ("missing-count-fatal", "**:content.**"),
    ("name-without-id-fatal", "**:usage.**"),
    ("name-without-id-fatal", "**:cost.**"),
    ("null-content-beside-calls-fatal", "**:usage.**"),
    ("null-content-beside-calls-fatal", "**:cost.**"),
    ("output-required", "**:content.**"),
    ("unknown-finish-reason-fatal", "**:content.**"),
}
TOPICS = {"count_tokens": "tokens"}
CASSETTES = Path(__file__).parents[2] / "cassettes"
BUNDLED = {
    "anthropic-messages": (
        "advisor-cut-and-hidden",
        "compaction-content-null",
        "cost-fast-mode",
        "cost-fast-requested-standard-served",
        "cost-inference-in-the-us",
        "fallback-before-any-text",
        "fragment-behind-its-block",
        "id-shared-by-two-calls",
        "index-gap",
        "llama-cpp-multibyte-start",
        "payload-not-json",
        "refusal-after-a-whole-call",
        "refusal-details",
        "search-called-from-code",
        "start-input-replaced-by-deltas",
        "stop-sequence-second",
    ),
    "bedrock-converse": (
        "content-filtered-after-a-whole-call",
        "guardrail-detects-only",
        "half-a-character-per-delta",
        "indices-with-gaps",
        "stop-sequence",
        "tool-at-the-index-of-text",
    ),
    "bedrock-invoke": (
        "block-stopped-twice",
        "chunk-without-type",
        "refusal-after-a-whole-call",
        "stop-sequence-second",
    ),
    "cohere-chat": (
        "empty-deltas",
        "end-events-twice",
        "half-a-character-per-delta",
        "id-shared-by-two-calls",
        "v1-calls-only-in-stream-end",
        "v1-text-only-in-stream-end",
    ),
    "google-generate": (
        "cost-audio",
        "cost-tier-ignores-output",
        "cost-traffic-type-flex",
        "escalation",
        "fields-missing-at-the-end",
        "half-a-character-per-chunk",
        "id-shared-by-two-calls",
        "model-armor",
        "response-id-left-out",
        "search-between-texts",
        "unknown-reason",
    ),
    "google-interactions": (
        "arguments-in-both",
        "checkpoint-then-last-token",
        "cost-audio",
        "end-events-twice",
        "file-search",
        "google-maps",
        "id-shared-by-two-calls",
        "running-totals",
    ),
    "ollama-chat": (
        "content-null-beside-thinking",
        "counts-in-every-record",
        "done-reason-before-the-end",
        "eval-count-absent",
        "half-a-character-per-record",
        "id-shared-by-two-calls",
    ),
    "openai-chat": (
        "audio",
        "bare-fragments-of-both-calls",
        "custom-call",
        "error-openrouter-of-a-choice",
        "everything-in-one-chunk",
        "finish-guardrail",
        "finish-reason-max-tokens-in-capitals",
        "half-a-character-per-delta",
        "id-absent",
        "id-shared-by-two-calls",
        "index-starts-at-one",
        "name-after-first-arguments",
        "name-empty-on-later-fragments",
        "one-index-twice-in-the-first-chunk",
        "python-llama-cpp-named-call",
        "stop-on-every-chunk",
    ),
    "openai-responses": (
        "compaction",
        "completed-without-output",
        "done-events-are-empty",
        "failed-for-misalignment-without-details",
        "half-a-character-per-delta",
        "ids-rotate-text",
        "keepalive-events",
        "no-arguments-empty-delta",
        "one-output-index-for-all",
        "program-output",
        "unknown-part-type",
        "usage-reported-early",
    ),
}
"""Cassettes that reveal bugs that the other samples do not reveal."""
WHOLE = ("arguments", "citations", "data", "details")


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves by path in a spec; arguments, citations and raw data are leaves."""
    if isinstance(value, dict):
        inner = "" if "type" not in value or not path.startswith("content") else value["type"] + "."
        found: dict[str, Any] = {}
        for key, child in value.items():
            name = f"{path}.{inner}{key}".lstrip(".")
            found |= {name: child} if key in WHOLE else leaves(child, name)
        return found
    if isinstance(value, list):
        found = {f"{path}.length": len(value)}
        for index, child in enumerate(value):
            found |= leaves(child, f"{path}.{index}")
        return found
    return {path: value}


def read_bundled(api: str, name: str) -> bytes:
    """Return the body of a cassette."""
    (path,) = (path for path in (CASSETTES / api).glob(f"{name}.*") if path.suffix not in (".yaml", ".json"))
    return path.read_bytes()


def trials(api: str) -> Iterator[tuple[str, list[bytes]]]:
    bundled = {name: read_bundled(api, name) for name in BUNDLED.get(api, ())}
    for name, body in (*SAMPLES[api].items(), *bundled.items()):
        case = f"{api}/sample/{name}"
        yield f"{case}@whole", [body]
        # Pieces of two bytes cut characters, and single bytes would take twice as long.
        yield f"{case}@pieces", chunkings.pieces(body, 7 if body.isascii() else 2)
        for cut in range(40, len(body), 270):
            yield f"{case}@cut-inside-json.{cut}", [body[:cut]]
        for number, end in enumerate(re.finditer(rb"\n\n", body)):
            yield f"{case}@cut-after-frame.{number}", [body[: end.start()]]


@cache
def right_answers(api: str) -> list[tuple[str, list[bytes], Answer]]:
    answers = [(trial, chunks, decode(chunks, api=api)) for trial, chunks in trials(api)]
    for _, _, answer in answers:
        assert_event_rules(answer)
    return answers


DOCUMENT_MUTANTS = sorted(
    name for name, mutant in MUTANTS.items() if "documents" in mutant.adapter.capabilities
)
"""Mutants that are tested in `test_document_mutants.py`."""
ELSEWHERE = {
    name
    for module in (behaviors, borders, every_api, long_events, sockets, websocket_frames)
    for name in module.mutants.table
}
"""Mutants that no small stream shows, which only the self-test runs or other modules test."""
STREAMS = sorted(
    name
    for name, mutant in MUTANTS.items()
    if "build_request" not in vars(mutant.adapter) and name not in {*DOCUMENT_MUTANTS, *ELSEWHERE}
)


CHANGED_LATE = (
    "arguments-repaired",
    "content-dropped-on-error",
    "cut-call-executable",
    "empty-arguments-dropped",
    "truncated-call-executed",
)
"""Mutants that change the content after its events."""


def failing_checks(name: str) -> set[str]:
    """Return the failing checks; every answer must also follow the event rules, which no mutant breaks."""
    adapter = MUTANTS[name].adapter
    failing = set()
    for api in adapter.apis:
        for trial, chunks, right in right_answers(api):
            answer = decode(chunks, adapter=adapter, api=api)
            if answer == right:
                continue
            if name not in CHANGED_LATE:
                assert_event_rules(answer)
            expected, got = leaves(right.outcome), leaves(answer.outcome)
            paths = (path for path in expected | got if expected.get(path) != got.get(path))
            failing |= {f"{trial}:{path}" for path in paths}
    for function, inputs in CALLS.items():
        broken, right_function = getattr(adapter, function, None), getattr(reference, function)
        failing |= {
            f"common/{TOPICS.get(function, function)}/{name}:output"
            for name, given in inputs.items()
            if broken and broken(None, given) != right_function(None, given)
        }
    return failing


def matches(glob: str, check: str) -> bool:
    """Whether the glob matches complete components: `*` matches one, `**` any number."""
    parts = re.split(r"[/@:.]", check)

    def match(globs: list[str], rest: list[str]) -> bool:
        if not globs:
            return not rest
        if globs[0] == "**":
            return any(match(globs[1:], rest[skip:]) for skip in range(len(rest) + 1))
        return bool(rest) and globs[0] in ("*", rest[0]) and match(globs[1:], rest[1:])

    return match(re.split(r"[/@:.]", glob), parts)


@pytest.mark.parametrize("name", STREAMS)
def test_a_mutant_fails_some_checks_only_those_it_names_and_keeps_the_event_rules(name: str) -> None:
    failing = failing_checks(name)
    assert failing
    globs = MUTANTS[name].fails
    assert {check for check in failing if not any(matches(glob, check) for glob in globs)} == set()
    for glob in globs:
        if not glob.endswith(OFTEN_IDLE) and (name, glob) not in IDLE:
            assert any(matches(glob, check) for check in failing), f"{glob} matches nothing"


def test_a_mutant_describes_itself() -> None:
    for name, mutant in MUTANTS.items():
        adapter = load(name)
        assert adapter.info["name"] == f"mutant:{name}"
        assert set(adapter.apis) <= set(SAMPLES), name
        assert adapter is mutant.adapter is getattr(streamconform_mutants, name)
        assert re.fullmatch(r"[A-Z`].*\.", mutant.bug), (
            f"{name}: one line, for the table of the self-test page"
        )


def test_no_name_is_used_twice() -> None:
    tables = [import_module(f"streamconform_mutants.{module}").mutants.table for module in MODULES]
    assert len(MUTANTS) == sum(len(table) for table in tables)


def test_loading_a_mutant_imports_only_its_own_module() -> None:
    code = (
        "import sys, streamconform_mutants as mutants\n"
        "mutants.load('words-as-tokens')\n"
        "print([m for m in mutants.MODULES if f'streamconform_mutants.{m}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "['functions']\n"


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        load("no-such-mutant")
    with pytest.raises(AttributeError, match="no mutant 'no-such-mutant'"):
        getattr(streamconform_mutants, "no-such-mutant")
