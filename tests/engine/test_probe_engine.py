"""The deviations of llama.cpp's server: in its recordings, and live if it is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform.suite.scenarios import load_bundled
from streamconform_capture.probe import checks
from streamconform_capture.probe.bad_requests import BAD_REQUESTS
from streamconform_capture.record.live import RawRecording
from streamconform_dev.engine.bodies import MODEL
from streamconform_dev.engine.engine import running

from ..cli.project import Project

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
APIS = (ANTHROPIC, CHAT, RESPONSES)
QUESTIONS = {question.name: question for question in (*load_bundled(), *BAD_REQUESTS)}

# API, question, failed check; `docs/probe.md` describes each
DEVIATIONS = [
    (RESPONSES, "text", "grammar.required-field.response.created.sequence_number"),
    (RESPONSES, "text", "grammar.required-field.response.output_text.delta.output_index"),
    (RESPONSES, "text", "grammar.required-field.response.output_text.delta.content_index"),
    (RESPONSES, "text", "grammar.required-field.response.created.response.model"),
    (RESPONSES, "parallel-calls", "grammar.arguments-done"),
    (RESPONSES, "max-tokens", "answer.stop"),
    (RESPONSES, "unicode", "grammar.one-created"),
    (CHAT, "unicode", "grammar.role-first"),
    (ANTHROPIC, "unicode", "grammar.start-first"),
    (ANTHROPIC, "parallel-calls", "grammar.blocks-in-sequence"),
    (ANTHROPIC, "parallel-calls", "grammar.block-fields"),
    (ANTHROPIC, "text", "grammar.id-form"),
    (ANTHROPIC, "no-messages", "http.status"),
    (ANTHROPIC, "no-messages", "error.type"),
    *((api, "parallel-calls-off", "answer.calls") for api in APIS),
    *((api, "named-tool", "answer.calls") for api in APIS),
]
LIVE = [(CHAT, "bad-tool-type", "http.status")]
"""Deviations that no recording shows."""

# the recording of each question
RECORDED = {
    "text": "text",
    "max-tokens": "length",
    "unicode": "multibyte-start",
    "parallel-calls": "parallel-calls",
    "parallel-calls-off": "parallel-disabled",
    "named-tool": "named-tool",
    "no-messages": "missing-messages",
}
RECORDED_ONLY = "parallel-calls"
"""The small live model answers this question with text, so only recordings show deviations in calls."""

# The only deviations that the recordings of this server may show.
KNOWN = {
    RESPONSES: {"arguments-done", "arguments-parse", "blocks-in-sequence", "one-created"},
    CHAT: {"role-first"},
    ANTHROPIC: {"block-fields", "blocks-in-sequence", "id-form", "start-first"},
}


def check_recording(api, question):
    """Return the failed checks of the recording of a question."""
    cassette = cassettes.load(find_bundled("cassettes"), api, f"llama-cpp-{RECORDED[question]}")
    recording = RawRecording(
        path="/",
        request_headers={},
        request_body=b"{}",
        status=cassette.status,
        headers=dict(cassette.headers),
        body=cassette.body,
        received=len(cassette.body),
        marks=(),
        cut=None,
    )
    if question == "no-messages":
        results = checks.check_error(api, QUESTIONS[question], recording)
    else:
        results, _ = checks.check_stream(api, QUESTIONS[question], cassette.request.body, recording)
    return {check.path for check in results if check.verdict != "pass"}


@pytest.mark.parametrize(("api", "question", "check"), DEVIATIONS)
def test_a_deviation_shows_in_the_recording(api, question, check):
    assert check in check_recording(api, question)


@pytest.mark.parametrize("api", APIS)
def test_the_recordings_show_no_other_deviation(api):
    grammar = checks.GRAMMARS[api]
    rules = set()
    for path in sorted((find_bundled("cassettes") / api).glob("llama-cpp-*.yaml")):
        cassette = cassettes.load(find_bundled("cassettes"), api, path.stem)
        if cassette.status == 200:
            rules |= {deviation.rule for deviation in grammar.of_body([cassette.body], cassette.request.body)}
    assert {rule for rule in rules if not rule.startswith("required-field.")} == KNOWN[api]


def probe_question(folder, url, api, question):
    """Return the failed checks of a live question."""
    arguments = (url, "--api", api, "--model", MODEL, "-k", f"probe/{api}/{question}")
    ran = Project(folder).run("probe", *arguments, "--temperature", "0", "--timeout", "100")
    assert ran.code in (0, 1), ran.out + ran.err
    lines = map(json.loads, (folder / ".conform" / "probe.jsonl").read_text("utf-8").splitlines())
    (trial,) = (line for line in lines if line["kind"] == "trial")
    return {check["path"] for check in trial["checks"] if check["verdict"] != "pass"}


@pytest.mark.engine
@pytest.mark.parametrize("api", APIS)
def test_a_live_probe_finds_each_deviation(api, tmp_path):
    rows = [*DEVIATIONS, *LIVE]
    expected = {
        (question, check) for row_api, question, check in rows if row_api == api and question != RECORDED_ONLY
    }
    with running(Path(sys.executable), {}) as url:
        failed = {
            (question, check)
            for question in dict.fromkeys(question for question, _ in sorted(expected))
            for check in probe_question(tmp_path, url, api, question)
        }
    assert expected - failed == set()
