"""What a probe finds on llama.cpp's server: in the recordings of it, and live where it is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform.tools.probe import checks
from streamconform.tools.probe.refusals import REFUSALS
from streamconform.tools.probe.scenarios import SCENARIOS
from streamconform.tools.record.live import RawRecording

from ..cli.project import Project
from .bodies import MODEL
from .engine import running

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
APIS = (ANTHROPIC, CHAT, RESPONSES)
NAMED = {each.name: each for each in (*SCENARIOS, *REFUSALS)}

# api, question, check that does not pass; `docs/probe.md` says in words what each is
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
"""What no recording has."""

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
CALLED = "parallel-calls"
"""So small a model answers it in words: what is wrong with calls is seen in the recordings only."""

# what every other recording of this server may have, and no more
KNOWN = {
    RESPONSES: {"arguments-done", "arguments-parse", "blocks-in-sequence", "one-created"},
    CHAT: {"role-first"},
    ANTHROPIC: {"block-fields", "blocks-in-sequence", "id-form", "start-first"},
}


def found(api, question):
    """Return the checks that do not pass for the recording of a question."""
    cassette = cassettes.load(find_bundled("cassettes"), api, f"llama-cpp-{RECORDED[question]}")
    came = RawRecording(
        path="/",
        request_headers={},
        request_body=b"{}",
        status=cassette.status,
        headers=dict(cassette.headers),
        body=cassette.body,
        marks=(),
        cut=None,
    )
    asked = NAMED[question]
    if question == "no-messages":
        judged = checks.of_refusal(api, asked, came)
    else:
        judged = checks.of_stream(api, asked, cassette.request.body, came)[0]
    return {check.path for check in judged if check.verdict != "pass"}


@pytest.mark.parametrize(("api", "question", "check"), DEVIATIONS)
def test_a_deviation_of_the_server_is_found_in_its_recording(api, question, check):
    assert check in found(api, question)


@pytest.mark.parametrize("api", APIS)
def test_nothing_else_is_found_in_any_recording_of_the_server(api):
    grammar = checks.GRAMMARS[api]
    rules = set()
    for path in sorted((find_bundled("cassettes") / api).glob("llama-cpp-*.yaml")):
        cassette = cassettes.load(find_bundled("cassettes"), api, path.stem)
        if cassette.status == 200:
            rules |= {each.rule for each in grammar.of_body([cassette.body], cassette.request.body)}
    assert {rule for rule in rules if not rule.startswith("required-field.")} == KNOWN[api]


def probed(folder, url, api, question):
    """Return the checks that do not pass for a question to the server."""
    where = (url, "--api", api, "--model", MODEL, "-k", f"probe/{api}/{question}")
    ran = Project(folder).run("probe", *where, "--temperature", "0", "--timeout", "100")
    assert ran.code in (0, 1), ran.out + ran.err
    told = map(json.loads, (folder / ".conform" / "probe.jsonl").read_text("utf-8").splitlines())
    (trial,) = (each for each in told if each["kind"] == "trial")
    return {check["path"] for check in trial["checks"] if check["verdict"] != "pass"}


@pytest.mark.engine
@pytest.mark.parametrize("api", APIS)
def test_a_probe_of_the_server_itself_finds_each_of_them(api, tmp_path):
    rows = [*DEVIATIONS, *LIVE]
    wanted = {(question, check) for of, question, check in rows if of == api and question != CALLED}
    with running(Path(sys.executable), {}) as url:
        wrong = {
            (question, check)
            for question in dict.fromkeys(question for question, _ in sorted(wanted))
            for check in probed(tmp_path, url, api, question)
        }
    assert wanted - wrong == set()
