"""`streamconform.normal` converts the objects of SDKs; recorded JSON stands in for them."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from streamconform import normal
from streamconform.adapters.interface import Observation
from streamconform.judge.judge import judge
from streamconform.library import load_cases
from streamconform.model.capability import OF_STREAMS
from streamconform.model.case import Case
from streamconform.model.leaf import Literally
from streamconform.model.trial import AS_IS
from streamconform.suite.expand import make_trial
from streamconform_peers.peer import PACKAGE

CONVERTERS = {
    "openai-chat": (normal.convert_chat_chunks, normal.convert_chat_completion),
    "openai-responses": (normal.convert_response_events, normal.convert_response),
    "anthropic-messages": (normal.convert_anthropic_events, normal.convert_anthropic_message),
}
"""The functions for a stream and for a document, by API."""
CLAIMS = (OF_STREAMS | {"documents"}) - {"events", "cost", "errors"}


def read_payloads(case):
    """Return the JSON values that an SDK makes objects of: the data of each frame, or the document."""
    text = case.cassette.body.decode()
    if not case.stream:
        return [json.loads(text)]
    data = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(each) for each in data if each not in ("", "[DONE]")]


def list_cases(api):
    """Return the cases whose frames are JSON, and report no error: an SDK raises it."""
    cases = [case for case in load_cases([f"{api}/**"]) if isinstance(case, Case) and not case.unavailable]
    for case in cases:
        try:
            payloads = read_payloads(case)
        except ValueError:
            continue
        if case.expect.fields.get("status") != Literally("error") and payloads:
            yield case, payloads


@pytest.mark.slow
@pytest.mark.parametrize("api", CONVERTERS)
def test_the_json_of_an_answer_becomes_an_outcome_that_no_case_fails(api):
    convert_stream, convert_document = CONVERTERS[api]
    failed, count = {}, 0
    for case, payloads in list_cases(api):
        outcome = convert_stream(payloads) if case.stream else convert_document(payloads[0])
        verdict = judge(make_trial(case, AS_IS, 0), Observation(outcome, None), CLAIMS, lambda _: None)
        count += 1
        if verdict.verdict == "fail":
            failed[case.id] = [check for check in verdict.checks if check.verdict == "fail"]
    assert failed == {}
    assert count > 250


SCRIPT = """
import { readFileSync } from "node:fs";
import * as normal from "NORMAL";

for (const [name, document] of JSON.parse(readFileSync(0, "utf8")))
  console.log(JSON.stringify(normal[name](document)));
"""
NORMAL_MJS = PACKAGE / "node/normal.mjs"
IN_JAVASCRIPT = {
    "openai-chat": "convertChatCompletion",
    "openai-responses": "convertResponse",
    "anthropic-messages": "convertAnthropicMessage",
}


@pytest.mark.slow
@pytest.mark.node
def test_javascript_makes_the_same_of_a_document(tmp_path):
    cases = [
        (case, [IN_JAVASCRIPT[api], payloads[0]])
        for api in IN_JAVASCRIPT
        for case, payloads in list_cases(api)
        if not case.stream and not case.unavailable
    ]
    script = tmp_path / "convert.mjs"
    script.write_text(SCRIPT.replace("NORMAL", NORMAL_MJS.as_uri()), "utf-8")
    documents = json.dumps([document for _, document in cases]).encode()
    done = subprocess.run(("node", str(script)), input=documents, capture_output=True, check=True)
    outcomes = map(json.loads, done.stdout.splitlines())
    # The other claims are of the peers in JavaScript, which do not report the provider's tools in full.
    claims = frozenset(
        {"tool_calls", "parallel_tool_calls", "thinking", "signatures", "usage", "cache_usage"}
    )
    failed = {}
    for (case, _), outcome in zip(cases, outcomes, strict=True):
        verdict = judge(make_trial(case, AS_IS, 0), Observation(outcome, None), claims, lambda _: None)
        if verdict.verdict == "fail":
            failed[case.id] = [check for check in verdict.checks if check.verdict == "fail"]
    assert failed == {}
    assert len(cases) > 50


def test_the_file_for_javascript_imports_nothing():
    assert re.findall(r"^import |require\(|import\(", NORMAL_MJS.read_text("utf-8"), re.MULTILINE) == []


def fail_after(*items):
    yield from items
    raise ConnectionError("gone")


CHUNK = {"choices": [{"index": 0, "delta": {"content": "Hel"}}], "model": "m"}


def test_a_stream_that_raises_keeps_what_came_before_and_the_exception():
    result = normal.read_stream(fail_after(CHUNK), normal.convert_chat_chunks)
    outcome = result["outcome"]
    assert (outcome["status"], outcome["stop"]) == ("error", {"reason": "error", "raw": None})
    assert outcome["content"] == [{"type": "text", "text": "Hel"}]
    assert "error" not in outcome  # the message of the exception stands for it
    assert isinstance(result["raised"], ConnectionError)


def test_a_stream_that_ends_is_converted():
    end = {"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}]}
    assert normal.read_stream(iter([CHUNK, end]), normal.convert_chat_chunks) == normal.convert_chat_chunks(
        [CHUNK, end]
    )


def test_an_exception_of_the_conversion_is_not_the_librarys():
    with pytest.raises(ZeroDivisionError):
        normal.read_stream([CHUNK], lambda _: 1 / 0)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("MAX_TOKENS", "length"),
        ("tool_calls", "tool_use"),
        ("?", "other"),
        (None, None),
    ],
)
def test_the_stop_reason_of_any_provider_has_a_name_of_ours(raw, reason):
    assert normal.translate_stop(raw) == reason


def test_the_fields_of_another_sdk_can_be_named():
    chunk = {"choices": [{"index": 0, "delta": {"reasoning": "Hmm"}}]}
    fields = normal.ChatFields(reasoning=("reasoning",))
    assert normal.convert_chat_chunks([chunk])["content"] == []
    assert normal.convert_chat_chunks([chunk], fields)["content"] == [{"type": "thinking", "text": "Hmm"}]


def test_what_a_library_did_not_return_is_an_incomplete_outcome():
    for convert in (
        normal.convert_chat_completion,
        normal.convert_response,
        normal.convert_anthropic_message,
        normal.convert_langchain_message,
        normal.convert_pydantic_ai_response,
    ):
        outcome = convert(None)
        assert (outcome["status"], outcome["content"]) == ("incomplete", [])
