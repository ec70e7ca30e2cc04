"""On real recordings, the reference returns the same outcome for any chunks, and breaks no invariant."""

from __future__ import annotations

import json
import os
import shutil
from operator import itemgetter
from pathlib import Path

import pytest

from streamconform.apis import APIS

from ..bundled_suite import sample
from ..cli.project import Project

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

NEIGHBOURS = {"ollama-generate": 9, "openai-completions": 22}
"""Recordings of APIs that this version does not know."""
LEAST = dict.fromkeys(APIS, 50) | {"bedrock-invoke": 25, "google-interactions": 15}
"""The minimum number of recordings by API. Of the 40 of bedrock-invoke, two are HTTP errors, and 28 are from
other models.
"""
LONG = 10_000
"""Recordings with more bytes are not delivered byte by byte, unless STREAMCONFORM_CORPUS_FULL is set.

These are a quarter of the recordings, but four fifths of all bytes; most of their frames are like those of
the others.
"""
FULL = bool(os.environ.get("STREAMCONFORM_CORPUS_FULL"))


def compare(project, apis, *options, corpus=None):
    """Run the reference on the recordings of these APIs."""
    only = [word for api in apis for word in ("--api", api)]
    folder = str(corpus or os.environ["STREAMCONFORM_CORPUS"])
    return project.run("compare", "reference", "--corpus", folder, *only, *options)


def select_for_bytewise(entries):
    """Return the shortest recording of each shape that is not long.

    A cut inside a frame affects only the framing and the code that reads a frame of this shape. A second
    recording of the same shape differs only in its text, which `whole,random` compares for every recording.
    """
    shortest = {}
    for entry in sorted(entries, key=lambda entry: (entry["bytes"], entry["file"])):
        if entry["bytes"] <= LONG:
            shortest.setdefault((entry["api"], entry["shape"]), entry)
    return list(shortest.values())


def read_entries():
    text = (Path(os.environ["STREAMCONFORM_CORPUS"]) / "manifest.jsonl").read_text("utf-8")
    return sorted((json.loads(line) for line in text.splitlines()), key=itemgetter("api", "file"))


def copy_recordings(entries, folder):
    """Return a folder with only these recordings."""
    for entry in entries:
        path = folder / entry["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(os.environ["STREAMCONFORM_CORPUS"]) / entry["file"], path)
    (folder / "manifest.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    return folder


def test_the_reference_reads_every_recording_and_agrees_with_itself(tmp_path):
    entries = read_entries()
    sampled = sample(entries)
    some = copy_recordings(sampled, tmp_path / "some")
    ran = compare(Project(tmp_path), APIS, "--deliver", "whole,random", "--report", "json=-", corpus=some)
    share = len(sampled) / len(entries)
    recordings = assert_agrees(ran)
    assert {api: count for api, count in recordings.items() if count <= LEAST[api] * share} == {}


def test_byte_by_byte_the_reference_agrees_with_itself_too(tmp_path):
    entries = read_entries()
    short = copy_recordings(entries if FULL else select_for_bytewise(entries), tmp_path / "short")
    ran = compare(Project(tmp_path), APIS, "--deliver", "whole,bytewise", "--report", "json=-", corpus=short)
    recordings = assert_agrees(ran)
    assert sum(recordings.values()) > 250


def assert_agrees(ran):
    """Return the number of recordings by API; every API has some."""
    found = json.loads(ran.out)
    assert found["causes"] == []
    assert found["not_read"] == []
    assert found["recordings"].keys() == APIS.keys()
    assert ran.code == 0
    return found["recordings"]


def test_recordings_of_an_unknown_api_are_counted_and_the_reason_is_reported(tmp_path):
    ran = compare(Project(tmp_path), NEIGHBOURS)
    for api, count in NEIGHBOURS.items():
        assert f"not read: {count} of {api}: the API {api} is not known to this version" in ran.out
    assert ran.code == 2
