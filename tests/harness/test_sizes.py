"""Huge and empty streams are grown from short ones, run only if they are named, and are read whole."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from streamconform import load_cases, run_suite
from streamconform.adapters.host import digest_texts
from streamconform.apis import APIS
from streamconform.delivery.grow import grow
from streamconform.model.growth import DIGEST_ABOVE, LINE, Growth, shorten_text, shorten_texts
from streamconform.suite.selection import SelectionSettings, select_heads
from streamconform_reference.adapter import open_decoder
from streamconform_reference.apis import DECODERS

TEXT = "text-64-kib"
CALLS = "many-calls"


def read(api: str, case: str, growth: Growth) -> list[dict]:
    """Return the blocks in the stream that is grown from the short stream of a case."""
    (short,) = load_cases([f"{api}/sizes/{case}"])
    run = SimpleNamespace(api=api, status=200, headers=short.cassette.headers, pricing=None, chunks=[])
    decoder = open_decoder(run, DECODERS)
    decoder.receive_data(b"".join(grow(api, short.cassette.body, growth)))
    decoder.receive_eof()
    outcome = decoder.outcome.to_json()
    assert outcome["status"] == "complete"
    return outcome["content"]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("size", "parts"), [(1, 1), (100, 1), (100, 3), (5, 5)])
def test_a_text_has_its_size_in_any_number_of_deltas(api, size, parts):
    growth = Growth("text", size, parts)
    texts = [block["text"] for block in read(api, TEXT, growth) if block["type"] == "text"]
    assert texts == [growth.content]
    assert len(growth.content.encode()) == size


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("parts", [1, 7])
def test_the_arguments_of_a_call_are_the_grown_ones(api, parts):
    growth = Growth("arguments", 300, parts)
    (call,) = (block for block in read(api, CALLS, growth) if block["type"] == "tool_call")
    grown = APIS[api].smoke.call_arguments | call["arguments"]
    assert call["arguments"] == grown
    assert growth.content in call["arguments"].values()


@pytest.mark.parametrize("api", APIS)
def test_every_repeated_call_has_its_own_id(api):
    calls = [block for block in read(api, CALLS, Growth("calls", parts=12)) if block["type"] == "tool_call"]
    assert [call["arguments"] for call in calls] == [APIS[api].smoke.call_arguments] * 12
    assert len({call["id"] for call in calls}) == (1 if calls[0]["id"] is None else 12)


def test_no_two_lines_of_a_text_are_equal():
    lines = Growth("text", 100 * len(LINE.format(0).encode())).content.splitlines()
    assert len(lines) == len(set(lines)) == 100


@pytest.mark.parametrize("size", [DIGEST_ABOVE, DIGEST_ABOVE + 1])
def test_a_text_and_its_digest_are_equal(size):
    text = "é" * size
    digest = {"length": size, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    assert digest_texts({"a": [text]}, DIGEST_ABOVE) == {"a": [digest if size > DIGEST_ABOVE else text]}
    assert shorten_texts(digest_texts([text], DIGEST_ABOVE)) == shorten_texts([text]) == [shorten_text(text)]
    assert shorten_text(text) != shorten_text(text[:-1] + "e")


@pytest.mark.parametrize(
    ("select", "named"),
    [((), False), (("openai-chat/**",), False), (("sizes",), True), (("*/sizes/*",), True)],
)
def test_the_cases_run_only_if_a_pattern_names_them(select, named):
    heads = select_heads(SelectionSettings(select=select))
    assert any("/sizes/" in head.id for head in heads) is named


def test_memory_and_time_are_reported_and_do_not_fail(tmp_path):
    results = run_suite("reference", select=["openai-chat/sizes/text-64-kib"], path=tmp_path / "r.jsonl")
    (trial,) = results.trials
    assert trial.verdict == "pass"
    assert trial.resources is not None
    assert trial.resources.stream > 65536
