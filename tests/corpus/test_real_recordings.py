"""The reference over real recordings: the same outcome however the bytes come, and no invariant broken."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from streamconform.apis import APIS

from ..cli.project import Project

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

NEIGHBOURS = {"ollama-generate": 9, "openai-completions": 22}
"""Recordings of apis that this version does not know."""
FEW = {"bedrock-invoke": 25, "google-interactions": 15}
"""Apis of which there are few recordings, and how many at least.

Two of the 40 of bedrock-invoke are HTTP errors, 28 are of other models.
"""
LONG = 10_000
"""Recordings with more bytes are not delivered byte by byte, unless STREAMCONFORM_CORPUS_FULL is set.

They are a quarter of the recordings, with four fifths of all bytes: many frames like those of the others.
"""
FULL = bool(os.environ.get("STREAMCONFORM_CORPUS_FULL"))


def compare(project, apis, *options, corpus=None):
    """Run the reference over the recordings of these apis."""
    only = [word for api in apis for word in ("--api", api)]
    folder = str(corpus or os.environ["STREAMCONFORM_CORPUS"])
    return project.run("compare", "reference", "--corpus", folder, *only, *options)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The recordings that are not long, in a folder of their own."""
    whole, folder = Path(os.environ["STREAMCONFORM_CORPUS"]), tmp_path_factory.mktemp("short")
    lines = (whole / "manifest.jsonl").read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if FULL or json.loads(line)["bytes"] <= LONG]
    (folder / "manifest.jsonl").write_text("".join(kept), "utf-8")
    for line in kept:
        path = folder / json.loads(line)["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(whole / json.loads(line)["file"], path)
    return folder


@pytest.mark.parametrize("api", APIS)
def test_the_reference_reads_every_recording_and_agrees_with_itself(tmp_path, api):
    ran = compare(Project(tmp_path), [api], "--deliver", "whole,random", "--report", "json=-")
    assert_agrees(ran, api)


@pytest.mark.parametrize("api", APIS)
def test_byte_by_byte_the_reference_agrees_with_itself_too(tmp_path, api, short):
    ran = compare(Project(tmp_path), [api], "--deliver", "whole,bytewise", "--report", "json=-", corpus=short)
    assert_agrees(ran, api, least=25)


def assert_agrees(ran, api, least=50):
    least = min(least, FEW.get(api, least))
    found = json.loads(ran.out)
    assert found["causes"] == []
    assert found["not_read"] == []
    assert found["recordings"][api] > FEW.get(api, least)
    assert ran.code == 0


def test_recordings_of_an_unknown_api_are_counted_and_the_reason_is_said(tmp_path):
    ran = compare(Project(tmp_path), NEIGHBOURS)
    for api, count in NEIGHBOURS.items():
        assert f"not read: {count} of {api}: the api {api} is not known to this version" in ran.out
    assert ran.code == 5
