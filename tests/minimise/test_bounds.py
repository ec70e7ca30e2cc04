"""A search that would take hours does not begin."""

from __future__ import annotations

import pytest

from streamconform_capture.minimise import search
from streamconform_capture.minimise.search import NothingToMinimise

from .searching import run_search


def test_a_body_beyond_the_bound_is_not_minimised(monkeypatch):
    monkeypatch.setattr(search, "MAX_BODY", 100)
    with pytest.raises(NothingToMinimise, match=r"has [0-9]+ bytes; the limit is 100"):
        run_search("cohere-chat/v1/v1-plain-text", "mutant:final-text-doubled")
