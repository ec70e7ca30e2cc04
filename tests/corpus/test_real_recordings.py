"""The reference over real recordings: the same outcome however the bytes come, and no invariant broken."""

from __future__ import annotations

import json
import os

import pytest
from streamconform.apis import APIS

from ..cli.project import Project

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

NEIGHBOURS = {"bedrock-invoke": 40, "google-interactions": 20, "ollama-generate": 9, "openai-completions": 22}
"""Recordings of apis that this version does not know; two of the first are HTTP errors."""


def compare(project, apis, *options):
    """Run the reference over the recordings of these apis."""
    only = [word for api in apis for word in ("--api", api)]
    return project.run(
        "compare", "reference", "--corpus", os.environ["STREAMCONFORM_CORPUS"], *only, *options
    )


@pytest.mark.parametrize("api", APIS)
def test_the_reference_reads_every_recording_and_agrees_with_itself(tmp_path, api):
    ran = compare(Project(tmp_path), [api], "--deliver", "whole,bytewise,random", "--report", "json=-")
    found = json.loads(ran.out)
    assert found["causes"] == []
    assert found["not_read"] == []
    assert found["recordings"][api] > 50
    assert ran.code == 0


def test_recordings_of_an_unknown_api_are_counted_and_the_reason_is_said(tmp_path):
    ran = compare(Project(tmp_path), NEIGHBOURS)
    for api, count in NEIGHBOURS.items():
        assert f"not read: {count} of {api}: the api {api} is not known to this version" in ran.out
    assert ran.code == 5
