"""Cassettes on disk: a saved one loads unchanged, and a changed one is rejected."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamconform.errors import SourceError
from streamconform.model.cassette import Authored, Derived, Recorded
from streamconform.suite import cassettes

from . import builders

API = builders.ANTHROPIC


def round_trip(folder: Path, cassette):
    path = cassettes.save(folder, cassette)
    assert path == folder / API / f"{cassette.name}.yaml"
    return cassettes.load(folder, API, cassette.name)


WORDS = [
    "line\u2028and\u2029paragraph\x85next",
    "tab\tbell\x07nul\x00escape\x1b\x7f\x9f",
    "\r\n lines \r\n\n",
    " leading and trailing ",
    "0b1",
    "0o17",
    "0x1F",
    "017",
    "1e5",
    "1E400",
    "12",
    "-1.5",
    "NO",
    "yes",
    "~",
    "null",
    "",
    "true",
    "=",
    "<<",
    "2024-01-01",
    "12:30:45",
    "1_000",
    "*alias",
    "&anchor",
    "!tag",
    "# no comment",
    "a: b",
    "- a",
    "[",
    "{",
    "'",
    '"',
    "\\",
    "%",
    "@",
    "`",
    "---",
    "...",
    "😀👩‍👩‍👧 \ufeff",
    "\U0010ffff\ufffe",
    "x" * 5000,
    "word " * 400,
]


@pytest.mark.parametrize("text", WORDS, ids=lambda text: ascii(text)[:24])
def test_any_text_in_a_request_survives_a_round_trip(tmp_path, text):
    request = {"model": text, "messages": [{"role": "user", "content": text}], f"key {text}": {text: [text]}}
    assert round_trip(tmp_path, builders.cassette(request=request)).request.body == request


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(
    max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
@given(value=json_values)
def test_any_json_in_a_request_survives_a_round_trip(tmp_path, value):
    request = {"value": value}
    read = round_trip(tmp_path, builders.cassette(request=request)).request.body
    assert read == request
    assert type(read["value"]) is type(value)


@pytest.mark.parametrize(
    "request_body",
    [{"text": "half \ud800 a pair"}, {"\udfff": 1}, {"n": float("inf")}, {"n": 10**500}],
    ids=["surrogate", "surrogate-in-key", "infinity", "500-digits"],
)
def test_text_that_yaml_cannot_represent_is_rejected_and_leaves_no_metadata(tmp_path, request_body):
    with pytest.raises(SourceError, match="contains text that YAML cannot represent"):
        cassettes.save(tmp_path, builders.cassette(request=request_body))
    assert not list(tmp_path.rglob("*.yaml"))


PROVENANCE = [
    Recorded("llama.cpp b4000", "qwen3-4b", "2026-01-02", "streamconform 0.1.0", "a note"),
    Recorded("api 1", "m", "2026-01-02", "t 1"),
    Derived("other", "cut after frame 3", "a note"),
    Authored("https://docs.example.org/x#y"),
]


@pytest.mark.parametrize("provenance", PROVENANCE, ids=lambda each: f"{each.kind}-{bool(each.note)}")
def test_a_cassette_survives_a_round_trip(tmp_path, provenance):
    whole = builders.cassette(
        b"data: \x00\xff\r\n\n", marks=[(0, 10), (3, 10), (7, 400)], provenance=provenance, twin=b'{"a": 1}'
    )
    assert round_trip(tmp_path, whole) == whole


def test_an_empty_body_with_a_mark_survives_a_round_trip(tmp_path):
    assert round_trip(tmp_path, builders.cassette(b"", marks=[(0, 5)])).body == b""


def test_saving_leaves_nothing_but_the_files(tmp_path):
    cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    left = sorted(path.name for path in (tmp_path / API).iterdir())
    assert left == ["small.sse", "small.twin.json", "small.yaml"]


def test_a_save_that_fails_leaves_the_old_files_and_no_others(tmp_path, monkeypatch):
    cassettes.save(tmp_path, builders.cassette(b"old"))

    def broken(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", broken)
        with pytest.raises(OSError, match="No space"):
            cassettes.save(tmp_path, builders.cassette(b"new"))
    assert cassettes.load(tmp_path, API, "small").body == b"old"
    assert sorted(os.listdir(tmp_path / API)) == ["small.sse", "small.yaml"]  # noqa: PTH208


def test_a_body_beyond_the_bound_is_neither_saved_nor_loaded(tmp_path, monkeypatch):
    cassettes.save(tmp_path, builders.cassette(b"12345"))
    monkeypatch.setattr(cassettes, "MAX_BODY", 4)
    with pytest.raises(SourceError, match="larger than 4 bytes"):
        cassettes.save(tmp_path, builders.cassette(b"12345"))
    with pytest.raises(SourceError, match="larger than 4 bytes"):
        cassettes.load(tmp_path, API, "small")


def replaced(old: str, new: str):
    return lambda path: path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


SPOILED = [
    ("changed-bytes", lambda path: path.with_suffix(".sse").write_bytes(b"x"), "`small.sse` was changed"),
    ("missing-body", lambda path: path.with_suffix(".sse").unlink(), "`small.sse`: No such file"),
    (
        "changed-twin",
        lambda path: path.with_name("small.twin.json").write_bytes(b"x"),
        "`small.twin.json` was changed",
    ),
    ("missing-twin", lambda path: path.with_name("small.twin.json").unlink(), "`small.twin.json`: No such"),
    ("other-name", replaced("body: small.sse", "body: large.sse"), "`large.sse` must begin with `small.`"),
    ("path-outside", replaced("body: small.sse", "body: ../small.sse"), "does not match"),
    ("unknown-key", replaced("response:", "colour: red\nresponse:"), "unknown key `colour`"),
    ("other-version", replaced("cassette: 1", "cassette: 2"), "expected `1`, got `2`"),
    ("no-provenance-link", replaced("source: https", "source: somewhere"), "does not match"),
    ("upper-case-header", replaced("content-type:", "Content-Type:"), "does not"),
    ("first-mark", replaced("[[0, 5]", "[[1, 5]"), "the first chunk must begin at 0, not 1"),
    ("marks-fall", replaced("[4, 9]", "[0, 9]"), "offsets of chunk marks must increase"),
    ("time-falls", replaced("[4, 9]", "[4, 1]"), "times must not decrease"),
    ("mark-beyond", replaced("[4, 9]", "[4000, 9]"), "after the end of the body"),
    ("mark-is-a-float", replaced("[4, 9]", "[4.0, 9]"), "is not a integer"),
    ("mark-of-one-number", replaced("[4, 9]", "[4]"), "too short"),
    ("not-yaml", lambda path: path.write_text("{"), "invalid YAML"),
]


@pytest.mark.parametrize(("spoil", "says"), [row[1:] for row in SPOILED], ids=[row[0] for row in SPOILED])
def test_an_invalid_cassette_is_rejected_with_the_line(tmp_path, spoil, says):
    path = cassettes.save(tmp_path, builders.cassette(marks=[(0, 5), (4, 9)], twin=b"{}"))
    spoil(path)
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, API, "small")
    assert says in str(caught.value)
    assert all(problem.path == str(path) and problem.line for problem in caught.value.problems)


def test_problems_of_body_and_twin_are_reported_together(tmp_path):
    path = cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    path.with_suffix(".sse").unlink()
    path.with_name("small.twin.json").unlink()
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, API, "small")
    assert len(caught.value.problems) == 2


def test_a_missing_cassette_is_reported(tmp_path):
    with pytest.raises(SourceError, match="no such cassette"):
        cassettes.load(tmp_path, API, "nothing")


def test_the_model_is_that_of_the_request_and_only_text():
    assert builders.cassette().model == "claude-haiku-4-5"
    assert builders.cassette(request={"model": 5}).model is None


def test_the_content_type_is_without_parameters():
    headers = {"content-type": "Text/Event-Stream; charset=utf-8"}
    assert dataclasses.replace(builders.cassette(), headers=headers).content_type == "text/event-stream"


@pytest.mark.parametrize("name", builders.FRAMED)
def test_a_body_of_every_framing_survives_a_round_trip(tmp_path, name):
    api, framed, body = builders.FRAMED[name]
    suffix = {"json_array": "json", "invoke_stream": "eventstream"}.get(framed, framed)
    given = dataclasses.replace(builders.cassette(body, api=api, name=name), suffix=suffix)
    cassettes.save(tmp_path, given)
    assert (tmp_path / api / f"{name}.{suffix}").read_bytes() == body
    assert cassettes.load(tmp_path, api, name) == given


MODELS = [
    ("/v1/messages", {"model": "m-1"}, "m-1"),
    ("/model/amazon.nova-lite-v1%3A0/converse-stream", {}, "amazon.nova-lite-v1:0"),
    ("/model/us.anthropic.a-v1%3A0/invoke-with-response-stream", {}, "us.anthropic.a-v1:0"),
    ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", {}, "gemini-2.5-flash"),
    (
        "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:streamGenerateContent",
        {},
        "gemini-2.5-pro",
    ),
    ("/v1/messages", {}, None),
    ("/v1/messages", {"model": 3}, None),
]


@pytest.mark.parametrize(("path", "body", "model"), MODELS)
def test_the_model_is_named_in_the_request_s_body_or_path(path, body, model):
    given = builders.cassette()
    request = dataclasses.replace(given.request, path=path, body=body)
    assert dataclasses.replace(given, request=request).model == model
