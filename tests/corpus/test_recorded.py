"""`conform run --recorded`: cases based on pulled recordings, with a tiny archive and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import zlib

import pytest

from streamconform.judge.align import normalize_expected
from streamconform.judge.match import matches_leaf
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import ExpectedBlock
from streamconform.model.leaf import Literally, digest_text, format_canonical_json
from streamconform.suite.catalog import read_case_ids
from streamconform.suite.load import Sources, list_spec_files, load
from streamconform.suite.provenance import count_streams
from streamconform.suite.pulled import is_recorded
from streamconform.yaml_text import reader as yaml_text
from streamconform_capture.corpus import cache
from streamconform_capture.corpus.pull import pull
from streamconform_dev.corpus.plain_reader import NotRead, read
from streamconform_dev.docs.blocks import describe_outdated
from streamconform_dev.docs.recorded import count_cases, generate

from ..bundled_suite import SOURCES
from ..cli.project import Project
from .sdists import BODY, KNOWN, interaction, sdist, vcr

TEXT = "Grüß dich 🌍"
TOPIC = f"recorded-{KNOWN.name}"
CASE = f"anthropic-messages/{TOPIC}/one"
USAGE = {"input": 12, "output": 9}


def ignore_progress(done, total):
    del done, total


def spec(body=BODY, text=TEXT, *, name="one", topic=TOPIC, source=True):
    ((length, digest),) = digest_text(text).parts
    origin = f'source: {{name: {KNOWN.name}, version: "{KNOWN.version}"}}\n' if source else ""
    return f"""\
spec: 1
api: anthropic-messages
topic: {topic}
{origin}cases:
  - id: {name}
    title: A text that the suite does not hold
    cassette: {{file: tests/cassettes/one.yaml, entry: 1, sha256: "{hashlib.sha256(body).hexdigest()}"}}
    expect:
      status: complete
      stop: stop
      content: [{{text: {{length: {length}, sha256: "{digest}"}}}}]
"""


@pytest.fixture
def root(offered):
    """A cache with one pulled recording."""
    root = cache.locate_root(os.environ["CONFORM_CACHE"])
    pull(root, sdist(offered, {"tests/cassettes/one.yaml": vcr(interaction())}), ignore_progress)
    return root


@pytest.fixture
def run(tmp_path):
    """Runs `conform WORDS` in a project with a spec based on the recording."""

    def run_conform(*words, text=None):
        files = {f"specs/anthropic-messages/{TOPIC}.yaml": text or spec(), "cassettes/.keep": ""}
        return Project(tmp_path / "project", files).run(*words, "--specs", "specs")

    return run_conform


def test_the_text_of_a_pulled_recording_is_judged_by_its_digest(run, root):
    assert (root / KNOWN.key / "anthropic-messages/one.sse").read_bytes() == BODY
    ran = run("run", "--recorded", "--deliver", "fast")
    assert (ran.code, ran.last[:22]) == (0, "No failures: 2 passed ")
    ran = run("run", "-k", f"{CASE}@as-is", text=spec(text=f"{TEXT}!"))
    assert ran.code == 1
    assert f"expected {len(TEXT) + 1} characters with the SHA-256" in ran.out
    assert f"pulled from {KNOWN.name} {KNOWN.version}" in run("explain", CASE, "--no-pager").out


def test_what_failed_in_a_run_over_recordings_runs_again_and_has_a_page(run, root, tmp_path):
    assert root.is_dir()
    wrong = spec(text=f"{TEXT}!")
    assert run("run", "--recorded", "--deliver", "fast", "--report", "html=r.html", text=wrong).code == 1
    page = (tmp_path / "project/r.html").read_text("utf-8")
    assert "Failed: 1 cause, in 2 of 2 trials" in page
    # The page's data is compressed.
    data = re.search(r'id="data">(.*?)</script>', page)[1]
    assert b"A text that the suite does not hold" in zlib.decompress(base64.b64decode(data))
    ran = run("run", "--last-failed", text=wrong)
    assert (ran.code, ran.last[:26]) == (1, "Failed: 1 cause, in 2 of 2")


def test_without_the_recording_its_cases_are_skipped_with_what_to_do(run, offered):
    assert list(offered.iterdir()) == []
    ran = run("run", "--recorded")
    assert (ran.code, ran.last[:40]) == (5, "No trial was judged: 1 trial skipped in ")
    assert "1 case skipped: fetch the recording with `conform run --recorded --pull`" in ran.err
    ran = run("explain", CASE, "--no-pager")
    assert (ran.code, "fetch the recording with `conform run --recorded --pull`" in ran.err) == (2, True)
    assert CASE in run("list", "--recorded").out
    assert run("lint").code == 0


def test_a_recording_with_another_digest_is_no_failure_of_the_implementation(run, root):
    assert root.is_dir()
    ran = run("run", "--recorded", text=spec(body=BODY + b"\n"))
    assert ran.code == 2
    assert "not the recording that was reviewed: its SHA-256 is" in ran.err
    assert f"delete `{root / KNOWN.key}`, then use `conform run --recorded --pull`" in ran.err
    ran = run("run", "--recorded", text=spec(name="two"))
    assert (ran.code, "no recording `anthropic-messages/two`" in ran.err) == (2, True)


def test_a_digest_matches_the_text_or_json_that_it_was_made_of():
    assert matches_leaf(digest_text(TEXT), TEXT)
    assert not matches_leaf(digest_text(TEXT), TEXT.upper())
    assert not matches_leaf(digest_text(""), None)
    arguments = {"b": [1.0, "ü"], "a": True}
    assert format_canonical_json(arguments) == '{"a":true,"b":[1,"ü"]}'
    assert matches_leaf(digest_text(format_canonical_json(arguments)), {"a": True, "b": [1, "ü"]})


def test_neighboring_texts_are_joined_by_their_digests():
    texts = [digest_text("one "), Literally("two "), digest_text("three")]
    blocks = [ExpectedBlock("text", {"text": text}) for text in texts]
    (joined,) = normalize_expected(blocks, CAPABILITIES)
    assert matches_leaf(joined.fields["text"], "one two three")
    assert not matches_leaf(joined.fields["text"], "one one three")
    assert not matches_leaf(joined.fields["text"], "one two three ")


def test_the_plain_reader_finds_the_facts_of_a_body():
    reading = read("anthropic-messages", 200, BODY)
    assert (reading.status, reading.reason, reading.raw) == ("complete", "stop", "end_turn")
    assert [(block.kind, block.text) for block in reading.blocks] == [("text", TEXT)]
    assert reading.usage == USAGE
    denied = json.dumps({"type": "error", "error": {"type": "not_found_error"}}).encode()
    assert read("anthropic-messages", 404, denied).error_type == "not_found_error"
    with pytest.raises(NotRead):
        read("anthropic-messages", 200, b"data: {\n\n")


def test_every_case_names_its_recording_and_none_repeats_it():
    files = [path for path in list_spec_files(SOURCES.specs, recorded=True) if is_recorded(path.name)]
    assert {path.name for path in files}.isdisjoint(path.name for path in list_spec_files(SOURCES.specs))
    cases = load(Sources(SOURCES.specs, SOURCES.cassettes), files)
    assert len(cases) == sum(len(read_case_ids(path)) for path in files)
    assert all(case.unavailable for case in cases)
    assert len({case.id for case in cases}) == len(cases)


def test_no_two_cases_of_a_source_have_the_same_title():
    files = [path for path in list_spec_files(SOURCES.specs, recorded=True) if is_recorded(path.name)]
    for path in files:
        titles = [case["title"] for case in yaml_text.read(path).value["cases"]]
        assert len(set(titles)) == len(titles), path


def test_the_page_counts_the_cases_and_a_thousand_are_from_first_parties():
    for path, content in generate().items():
        assert path.read_bytes() == content, describe_outdated("recorded")
    cases, first_party = count_cases()
    assert first_party.total() >= 1_000
    pulled = sum(counts["pulled"] for counts in count_streams(SOURCES).values())
    assert pulled == cases.total()
