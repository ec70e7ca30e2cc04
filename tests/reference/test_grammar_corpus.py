"""Recorded streams of first-party providers violate no `must` rule; if one does, the grammar is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from streamconform.model.case import Case
from streamconform_dev.corpus.captures import streams
from streamconform_reference.apis.grammars import GRAMMARS

pytestmark = pytest.mark.corpus

FIRST_PARTY: Mapping[str, frozenset[str]] = {
    "anthropic-messages": frozenset({"anthropic"}),
    "bedrock-converse": frozenset({"bedrock"}),
    "cohere-v1": frozenset({"cohere"}),
    "cohere-v2": frozenset({"cohere"}),
    "google-generate": frozenset({"google", "vertex"}),
    "ollama-chat": frozenset({"ollama"}),
    "openai-chat": frozenset({"openai"}),
    "openai-responses": frozenset({"openai"}),
}
"""Maps a folder to the vendors in its manifest that are the API's own provider."""

# Captures that are not the provider's own although the manifest says so, by file, with the violated rules and
# the reason.
NOT_ITS_OWN: Mapping[str, tuple[frozenset[str], str]] = {
    "openai-chat/openllmetry__openai-test_chat-test_chat_streaming.sse": (
        frozenset({"field-type.chunk.choices.delta.role", "field-type.chunk.choices.delta.tool_calls"}),
        "a gateway's: times in milliseconds, and the cache counts of another vendor",
    ),
    "openai-chat/vercel-ai__openai-compatible-anthropic-fallback-tool-call.sse": (
        frozenset({"index-contiguous"}),
        "made by hand after a gateway in front of another vendor's model",
    ),
    "openai-responses/otel-contrib__instrumentation-genai-openai-v2-"
    "test_responses_retrieve_stream_existing_response.1.sse": (
        frozenset({"sequence-contiguous", "start-first"}),
        "a stream that is taken up again behind its first event",
    ),
}


@cache
def own() -> tuple[tuple[str, Case, Any], ...]:
    """Return the file, the case and the request of each raw capture that a first-party provider made."""
    folder = os.environ.get("STREAMCONFORM_CORPUS")
    if not folder:
        return ()
    found = []
    bodies = {case.cassette.body: case for case in streams()}
    for line in (Path(folder) / "manifest.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        vendors = FIRST_PARTY.get(entry["api"], frozenset())
        if entry["fidelity"] != "raw" or entry["vendor"] not in vendors or entry["status"] >= 400:
            continue
        file = Path(folder) / entry["file"]
        request_file = file.with_name(f"{file.stem}.request.json")
        request = json.loads(request_file.read_bytes()) if request_file.exists() else None
        found.append(
            (entry["file"], bodies[file.read_bytes()], request if isinstance(request, dict) else None)
        )
    return tuple(found)


@pytest.mark.parametrize("folder", FIRST_PARTY)
def test_recorded_streams_of_providers_violate_no_must_rule(folder):
    judged = [each for each in own() if each[0].startswith(f"{folder}/")]
    assert len(judged) >= 30
    broken = {}
    for file, case, request in judged:
        found = GRAMMARS[case.api].of_body([case.cassette.body], request)
        if rules := {each.rule for each in found if each.level == "must"}:
            broken[file] = rules
    known = {file: {*rules} for file, (rules, _) in NOT_ITS_OWN.items() if file.startswith(f"{folder}/")}
    assert broken == known
