"""Cassettes on disk: a saved one loads unchanged, and a changed one is rejected."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Authored, Derived, Pulled, Recorded
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
    pytest.param("x" * 5000, id="long-word"),
    pytest.param("word " * 400, id="many-words"),
]


# Without `ids=`: in a second run in the same process, pytest would escape the backslashes of generated ids
# again, and mutmut would not find these tests.
@pytest.mark.parametrize("text", WORDS)
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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    with pytest.raises(SourceError) as caught:
        cassettes.save(tmp_path, builders.cassette(request=request_body))
    assert caught.value.problems == (Problem("request", None, "contains text that YAML cannot represent"),)
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


def test_an_interrupt_after_a_file_is_renamed_is_raised(tmp_path, monkeypatch):
    rename = Path.replace

    def rename_and_interrupt(path, target):
        rename(path, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", rename_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        cassettes.save(tmp_path, builders.cassette(b"new"))
    assert (tmp_path / API / "small.sse").read_bytes() == b"new"


def test_saving_does_not_use_the_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert round_trip(tmp_path, builders.cassette()) == builders.cassette()


def test_a_pulled_recording_cannot_be_saved(tmp_path):
    pulled = builders.cassette(provenance=Pulled("other 1.0", "a.yaml", 1))
    with pytest.raises(AssertionError, match="must stay in the user's cache"):
        cassettes.save(tmp_path, pulled)


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
    ("mark-is-a-float", replaced("[4, 9]", "[4.0, 9]"), "is not an integer"),
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


SPOIL = {name: spoil for name, spoil, _ in SPOILED}


def find_line(path: Path, text: str) -> int:
    """Return the number of the first line of the file that contains `text`."""
    return path.read_text("utf-8").partition(text)[0].count("\n") + 1


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        ("changed-bytes", "sha256:"),
        ("missing-body", "body: small.sse"),
        ("other-name", "body: large.sse"),
        ("missing-twin", "body: small.twin.json"),
    ],
)
def test_a_wrong_file_is_reported_at_the_line_with_its_name_or_digest(tmp_path, mistake, text):
    path = cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    SPOIL[mistake](path)
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, API, "small")
    assert [problem.line for problem in caught.value.problems] == [find_line(path, text)]


MARKS = [
    ("valid", [(0, 5), (3, 5), (4, 9)], []),
    ("first", [(1, 5), (3, 5)], [(0, "the first chunk must begin at 0, not 1")]),
    ("same-offset", [(0, 5), (3, 5), (3, 5)], [(2, "must increase")]),
    ("offset-falls", [(0, 5), (3, 5), (2, 6), (4, 6)], [(2, "must increase")]),
    ("time-falls", [(0, 5), (3, 4), (4, 6)], [(1, "times must not decrease")]),
    ("end", [(0, 5), (5, 6)], [(1, "the chunk begins after the end of the body (5 bytes)")]),
    (
        "several",
        [(1, 5), (0, 5), (9, 4)],
        [(0, "not 1"), (1, "increase"), (2, "decrease"), (2, "after the end")],
    ),
]


@pytest.mark.parametrize(("marks", "expected"), [row[1:] for row in MARKS], ids=[row[0] for row in MARKS])
def test_each_wrong_mark_is_reported_at_its_line(tmp_path, marks, expected):
    path = cassettes.save(tmp_path, builders.cassette(b"12345", marks=[(0, 5)]))
    block = "".join(f"\n    - [{offset}, {ms}]" for offset, ms in marks)
    text = path.read_text("utf-8").replace("chunks: [[0, 5]]", f"chunks:{block}")
    path.write_text(text, "utf-8")
    first_line = text.partition("chunks:")[0].count("\n") + 2
    problems = ()
    try:
        cassettes.load(tmp_path, API, "small")
    except SourceError as error:
        problems = error.problems
    assert [problem.line - first_line for problem in problems] == [index for index, _ in expected]
    assert all(says in problem.message for problem, (_, says) in zip(problems, expected, strict=True))


@pytest.mark.parametrize("body", [b"", b"x"])
def test_a_chunk_after_the_end_of_a_short_body_is_rejected(tmp_path, body):
    cassettes.save(tmp_path, builders.cassette(body, marks=[(0, 5), (1, 6)]))
    with pytest.raises(SourceError, match=rf"after the end of the body \({len(body)} bytes\)"):
        cassettes.load(tmp_path, API, "small")


FULL = """\
cassette: 1
provenance:
  kind: recorded
  server: s 1
  model: m
  date: "2026-01-02"
  tool: t 1
  note: n
request:
  method: POST
  path: /v1/messages
  headers:
    content-type: application/json
  body:
    model: m
response:
  status: 200
  headers:
    content-type: text/event-stream
  body: small.sse
  sha256: "{body}"
  chunks: [[0, 5], [1, 6]]
twin:
  body: small.twin.json
  sha256: "{twin}"
"""


@pytest.mark.parametrize("has_schema", [False, True])
def test_a_saved_cassette_is_written_in_reading_order_and_names_a_schema_that_is_there(tmp_path, has_schema):
    schema = tmp_path / "harness/streamconform/schemas/cassette.v1.json"
    if has_schema:
        schema.parent.mkdir(parents=True)
        schema.write_text("{}", "utf-8")
    given = builders.cassette(
        b"xy",
        marks=[(0, 5), (1, 6)],
        request={"model": "m"},
        provenance=Recorded("s 1", "m", "2026-01-02", "t 1", "n"),
        twin=b"{}",
    )
    path = cassettes.save(tmp_path / "cassettes", given)
    text = FULL.format(body=hashlib.sha256(b"xy").hexdigest(), twin=hashlib.sha256(b"{}").hexdigest())
    line, rest = "", path.read_text("utf-8")
    if has_schema:
        line, _, rest = rest.partition("\n")
        assert (path.parent / line.rpartition("=")[2]).resolve() == schema
        assert line.startswith("# yaml-language-server: $schema=")
    assert rest == text
    assert cassettes.load(tmp_path / "cassettes", API, "small") == given


def test_saved_files_can_be_read_by_everybody(tmp_path):
    path = cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o644}


def test_saving_without_a_twin_deletes_the_earlier_one(tmp_path):
    cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    assert round_trip(tmp_path, builders.cassette()) == builders.cassette()
    assert not (tmp_path / API / "small.twin.json").exists()


def test_a_request_without_headers_survives_a_round_trip(tmp_path):
    given = builders.cassette()
    given = dataclasses.replace(given, request=dataclasses.replace(given.request, headers={}))
    assert round_trip(tmp_path, given) == given


@pytest.mark.parametrize("name", ["Small", "a_b", "a--b", "-a", "a/b", ""])
def test_an_invalid_name_is_rejected(tmp_path, name):
    with pytest.raises(SourceError) as caught:
        cassettes.save(tmp_path, builders.cassette(name=name))
    message = "a cassette's name consists of lower-case words and digits joined by hyphens"
    assert caught.value.problems == (Problem(name, None, message),)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("entry", ["body", "twin"])
def test_a_file_may_have_exactly_the_bound(tmp_path, monkeypatch, entry):
    monkeypatch.setattr(cassettes, "MAX_BODY", 5)
    given = builders.cassette(b"12345", twin=b"12345")
    path = cassettes.save(tmp_path, given)
    assert cassettes.load(tmp_path, API, "small") == given
    name = {"body": "small.sse", "twin": "small.twin.json"}[entry]
    (path.parent / name).write_bytes(b"123456")
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, API, "small")
    message = f"`{name}`: the file is larger than 5 bytes"
    problem = Problem(str(path), find_line(path, f"body: {name}"), message)
    assert caught.value.problems == (problem,)
    with pytest.raises(SourceError) as caught:
        cassettes.save(tmp_path, builders.cassette(b"123456"))
    assert caught.value.problems == (Problem("small", None, "the body is larger than 5 bytes"),)


def test_a_huge_file_is_rejected_without_reading_all_of_it(tmp_path, monkeypatch):
    path = cassettes.save(tmp_path, builders.cassette())
    size = 32 * 1024 * 1024
    os.truncate(path.with_suffix(".sse"), size)
    monkeypatch.setattr(cassettes, "MAX_BODY", 5)
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match="larger than 5 bytes"):
            cassettes.load(tmp_path, API, "small")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size // 2


def test_problems_of_body_and_twin_are_reported_together(tmp_path):
    path = cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    path.with_suffix(".sse").unlink()
    path.with_name("small.twin.json").unlink()
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, API, "small")
    assert len(caught.value.problems) == 2


def test_a_missing_cassette_is_reported(tmp_path):
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, API, "nothing")
    assert caught.value.problems == (Problem(str(tmp_path / API / "nothing.yaml"), None, "no such cassette"),)


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
