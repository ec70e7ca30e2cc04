"""Streams are counted by the origin of their bytes."""

from __future__ import annotations

from collections import Counter

import pytest

from streamconform.model.cassette import Derived, Recorded
from streamconform.suite import cassettes
from streamconform.suite.load import Sources
from streamconform.suite.provenance import count_streams
from tests.harness import builders

API, CHAT = "anthropic-messages", "openai-chat"
HEAD = "spec: 1\n{more}topic: {topic}\ncases:\n"
STREAM = """\
  - id: {id}
    title: A small case
    cassette: {cassette}
    expect: {{status: complete, stop: stop, content: []}}
"""
ROUND_TRIP = """\
  - id: trip
    title: A small round trip
    cassettes: [one, two]
    conversation: {model: m, messages: [{role: user, content: hi}]}
    results: [{name: f, content: "1"}]
    expect: {request: {must: {model: m}}, outcome: {status: complete, stop: stop, content: []}}
"""
CALL = '  - id: open\n    title: A brace\n    input: "{"\n    expect: {output: {}}\n'
PULLED = '{{file: a.yaml, entry: 1, sha256: "{}"}}'.format("0" * 64)


@pytest.fixture
def sources(tmp_path):
    """A suite in which two cases name the same stream, and two sources have a recording of the same name."""
    recorded = Recorded("server 1.0", "m", "2026-01-02", "tool 1.0")
    for name, provenance in (("one", None), ("two", recorded), ("three", Derived("one", "cut"))):
        cassettes.save(tmp_path / "cassettes", builders.cassette(name=name, provenance=provenance))
    cassettes.save(tmp_path / "cassettes", builders.cassette(name="one", api=CHAT))
    files = {
        f"{API}/text": ("", [STREAM.format(id=name, cassette="one") for name in ("a", "b")]),
        f"{API}/trips": ("kind: round_trip\n", [ROUND_TRIP]),
        f"{API}/cut": ("", [STREAM.format(id="a", cassette="three")]),
        f"{CHAT}/text": ("", [STREAM.format(id="a", cassette="one")]),
        "common/partial": ("kind: partial\n", [CALL]),
    }
    for source in ("x", "y"):
        more = f'source: {{name: {source}, version: "1"}}\n'
        files[f"{API}/recorded-{source}"] = (more, [STREAM.format(id="one", cassette=PULLED)])
    for name, (more, cases) in files.items():
        api, _, topic = name.partition("/")
        path = tmp_path / "specs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        api_line = "" if api == "common" else f"api: {api}\n"
        path.write_text(HEAD.format(more=api_line + more, topic=topic) + "".join(cases), "utf-8")
    return Sources(tmp_path / "specs", tmp_path / "cassettes", tmp_path / "nothing-pulled")


def test_each_stream_counts_once_by_api_and_kind(sources):
    assert count_streams(sources) == {
        API: Counter(authored=1, recorded=1, derived=1, pulled=2),
        CHAT: Counter(authored=1),
    }
