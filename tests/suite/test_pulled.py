"""Specs based on pulled recordings: their names, and the origin of their bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Cassette, Pulled, Request
from streamconform.suite import cassettes
from streamconform.suite.catalog import read_catalog
from streamconform.suite.load import Sources, collect, list_spec_files, load
from streamconform.suite.pulled import (
    NOT_PULLED,
    is_recorded,
    load_pulled,
    make_placeholder,
    make_topic,
    parse_origin,
)
from tests.harness import builders

API = builders.ANTHROPIC
ORIGIN = Pulled("some.Source 1.0", "tests/one.yaml", 2)
RECORDING = builders.cassette(name="one")
ANOTHER = "not the recording that was reviewed: its SHA-256"
TOPIC = "recorded-some-source"
SPEC = f"""\
spec: 1
api: {API}
topic: {TOPIC}
source: {{name: some-source, version: "1.0"}}
cases:
  - id: one
    title: A text that the suite does not hold
    cassette: {{file: tests/one.yaml, entry: 2, sha256: "{RECORDING.sha256}"}}
    expect: {{status: complete, stop: stop, content: []}}
"""


@pytest.fixture
def corpus(tmp_path):
    """A cache with one pulled recording of two sources."""
    for name in ("some.Source-1.0", "some-source-1.0"):
        cassettes.save(tmp_path / "corpus" / name, RECORDING)
    return tmp_path / "corpus"


def write(folder: Path, text: str, topic: str = TOPIC) -> Path:
    path = folder / "specs" / API / f"{topic}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    return path


def test_a_recording_has_the_provenance_that_the_spec_names(corpus):
    assert load_pulled(corpus, API, "one", ORIGIN, RECORDING.sha256) == replace(RECORDING, provenance=ORIGIN)


def test_a_source_of_another_version_was_not_pulled(corpus):
    assert load_pulled(corpus, API, "one", structs.replace(ORIGIN, source="some.Source 1.1"), "") is None


@pytest.mark.parametrize(
    ("name", "sha256", "path", "message"),
    [
        ("two", RECORDING.sha256, "", f"no recording `{API}/two`"),
        (
            "one",
            "0" * 64,
            f"/{API}/one.yaml",
            f"{ANOTHER} is {RECORDING.sha256}, expected {'0' * 64}",
        ),
    ],
)
def test_a_recording_that_is_missing_or_another_one_is_a_problem(corpus, name, sha256, path, message):
    with pytest.raises(SourceError) as raised:
        load_pulled(corpus, API, name, ORIGIN, sha256)
    folder = f"{corpus}/some.Source-1.0"
    again = f"delete `{folder}`, then use `conform run --recorded --pull`"
    assert raised.value.problems == (Problem(f"{folder}{path}", None, f"{message}; {again}"),)


def test_a_placeholder_is_an_empty_stream_of_the_origin():
    assert make_placeholder(API, "one", ORIGIN) == Cassette(
        api=API,
        name="one",
        request=Request(method="POST", path="/", headers={}, body={}),
        status=200,
        headers={},
        body=b"",
        suffix="sse",
        marks=(),
        provenance=ORIGIN,
    )


def test_the_origin_is_the_source_with_its_version_and_the_place_in_it():
    source = {"name": "some.Source", "version": "1.0"}
    assert parse_origin(source, {"file": "tests/one.yaml", "entry": 2, "sha256": ""}) == ORIGIN


def test_a_topic_has_only_lower_case_letters_digits_and_hyphens():
    assert make_topic("llm_x.y-2") == "recorded-llm-x-y-2"


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("recorded-mirascope", True),
        ("openai-chat/recorded-*/**", True),
        ("*@recorded", False),
        ("recorded", False),
        ("openai-chat/text/is-recorded-here", False),
    ],
)
def test_only_a_pattern_that_names_them_selects_pulled_recordings(pattern, named):
    assert is_recorded(pattern) is named


def test_a_case_over_a_recording_is_unavailable_until_it_is_pulled(tmp_path, corpus):
    path = write(tmp_path, SPEC)
    origin = structs.replace(ORIGIN, source="some-source 1.0")
    (pulled,) = load(Sources(tmp_path / "specs", tmp_path, corpus))
    assert (pulled.cassette, pulled.unavailable) == (replace(RECORDING, provenance=origin), None)
    for folder in (None, tmp_path):
        (missing,) = load(Sources(tmp_path / "specs", tmp_path, folder), [path])
        assert (missing.cassette, missing.unavailable) == (make_placeholder(API, "one", origin), NOT_PULLED)
        assert (missing.id, missing.line) == (pulled.id, 6) == (f"{API}/{TOPIC}/one", 6)


def test_a_recording_that_cannot_be_used_does_not_hide_the_next(tmp_path, corpus):
    other = SPEC.partition("cases:\n")[2].replace("id: one", "id: two")
    path = write(tmp_path, SPEC.partition("cases:\n")[0] + "cases:\n" + other + SPEC.partition("cases:\n")[2])
    loaded = collect(Sources(tmp_path / "specs", tmp_path, corpus), [path])
    assert [case.id for case in loaded.cases] == [f"{API}/{TOPIC}/one"]
    first, second = loaded.problems
    assert first == Problem(str(path), 8, "recording `two` cannot be used")
    assert second.message.startswith(f"no recording `{API}/two`")


def test_every_recording_that_cannot_be_used_is_reported(tmp_path, corpus):
    case = SPEC.partition("cases:\n")[2]
    others = [case.replace("id: one", f"id: {name}") for name in ("two", "three")]
    path = write(tmp_path, SPEC + "".join(others))
    loaded = collect(Sources(tmp_path / "specs", tmp_path, corpus), [path])
    assert [(problem.line, problem.message.partition(";")[0]) for problem in loaded.problems] == [
        (12, "recording `two` cannot be used"),
        (None, f"no recording `{API}/two`"),
        (16, "recording `three` cannot be used"),
        (None, f"no recording `{API}/three`"),
    ]


def test_without_being_requested_nothing_of_these_specs_is_read(tmp_path):
    path = write(tmp_path, "not a spec at all: [")
    specs = tmp_path / "specs"
    assert list_spec_files(specs) == []
    assert list_spec_files(specs, recorded=True) == [path]
    assert read_catalog(Sources(specs, tmp_path)).ids == ()
    assert load(Sources(specs, tmp_path)) == ()
    for read in (load, lambda sources: read_catalog(sources).ids):
        with pytest.raises(SourceError):
            read(Sources(specs, tmp_path, tmp_path))


SOURCE = 'source: {name: some-source, version: "1.0"}\n'
DISAGREEMENTS = [
    ("other-topic", "text", (), (3, f"recordings from `some-source` must have the topic `{TOPIC}`")),
    (
        "no-source",
        TOPIC,
        ((SOURCE, ""),),
        (3, "topics that begin with `recorded-` are about pulled recordings; `source` is missing"),
    ),
    ("no-recordings", "text", ((SOURCE, ""),), (7, "expected a name, without `source`")),
    (
        "a-name",
        TOPIC,
        (("{file: tests/one.yaml", "small #"),),
        (8, "expected {file, entry, sha256}"),
    ),
    (
        "document",
        TOPIC,
        (("spec: 1\n", "spec: 1\nkind: document\n"),),
        (2, "pulled recordings must be of kind `stream`"),
    ),
]


@pytest.mark.parametrize(
    ("topic", "changes", "problem"),
    [row[1:] for row in DISAGREEMENTS],
    ids=[row[0] for row in DISAGREEMENTS],
)
def test_the_topic_the_source_and_the_cassettes_of_a_spec_agree(tmp_path, topic, changes, problem):
    text = SPEC.replace(f"topic: {TOPIC}", f"topic: {topic}")
    for old, new in changes:
        text = text.replace(old, new)
    path = write(tmp_path, text, topic)
    found = collect(Sources(tmp_path / "specs", tmp_path), [path]).problems
    assert problem in [(each.line, each.message) for each in found]
