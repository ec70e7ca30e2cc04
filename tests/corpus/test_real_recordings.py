"""The reference over real recordings: the same outcome however the bytes come, and no invariant broken."""

from __future__ import annotations

import json
import os

import pytest
from streamconform.wire.apis import APIS

from ..cli.project import Project

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


@pytest.mark.parametrize("api", APIS)
def test_the_reference_agrees_with_itself(tmp_path, api):
    corpus = os.environ["STREAMCONFORM_CORPUS"]
    ran = Project(tmp_path).run(
        "compare",
        "reference",
        "--corpus",
        corpus,
        "--api",
        api,
        "--deliver",
        "whole,random",
        "--report",
        "json=-",
    )
    found = json.loads(ran.out)
    assert found["causes"] == []
    assert found["not_read"] == []
    assert found["recordings"][api] > 50
    assert ran.code == 0
