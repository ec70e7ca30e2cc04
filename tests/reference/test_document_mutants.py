"""Mutants that misread non-streaming answers fail only the checks they name, and read streams correctly."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import Exchange, decode
from streamconform_mutants import MUTANTS
from streamconform_reference import adapter as reference

from ..bundled_suite import documents
from .samples import SAMPLES
from .test_mutants import DOCUMENT_MUTANTS, leaves, matches

OF_ONE_API = [
    name
    for name in DOCUMENT_MUTANTS
    if len(MUTANTS[name].adapter.apis) == 1 and MUTANTS[name].paths == ("document",)
]
"""Without the mutants of several APIs, and those that misread streams, too."""


@cache
def answers(api: str) -> dict[str, bytes]:
    return {case.id: case.cassette.body for case in documents() if case.api == api}


def read(adapter: Any, api: str, document: bytes) -> dict[str, Any]:
    (message,) = adapter(Exchange([document], api=api, stream=False))
    return leaves(message["outcome"])


def test_two_apis_have_one() -> None:
    assert len({api for name in OF_ONE_API for api in MUTANTS[name].adapter.apis}) >= 2


@pytest.mark.parametrize("name", OF_ONE_API)
def test_a_mutant_fails_some_checks_and_only_those_it_names(name: str) -> None:
    adapter = MUTANTS[name].adapter
    (api,) = adapter.apis
    failing = set()
    for case, document in answers(api).items():
        right, wrong = read(reference, api, document), read(adapter, api, document)
        paths = (path for path in right | wrong if right.get(path) != wrong.get(path))
        failing |= {f"{case}@as-is:{path}" for path in paths}
    assert failing
    assert all(any(matches(glob, check) for glob in MUTANTS[name].fails) for check in failing)


@pytest.mark.parametrize("name", OF_ONE_API)
def test_a_mutant_reads_streams_right(name: str) -> None:
    adapter = MUTANTS[name].adapter
    (api,) = adapter.apis
    for body in SAMPLES[api].values():
        assert decode(body, adapter=adapter, api=api) == decode(body, api=api)
