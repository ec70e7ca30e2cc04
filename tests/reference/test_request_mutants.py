"""Each request mutant is caught by a case, and fails only the checks it names."""

from __future__ import annotations

from functools import cache

import pytest

from streamconform.judge.request import compare_request
from streamconform.model.case import CallCase
from streamconform.model.request import RequestExpectation
from streamconform_mutants import MUTANTS
from streamconform_reference import adapter as reference
from streamconform_reference.adapter import Adapter
from streamconform_reference.apis import REQUEST_BUILDERS

from .. import bundled_suite
from .test_mutants import matches

NAMES = sorted(name for name in MUTANTS if "build_request" in vars(MUTANTS[name].adapter))


@cache
def cases() -> tuple[CallCase, ...]:
    calls = (case for case in bundled_suite.cases() if isinstance(case, CallCase))
    return tuple(case for case in calls if case.kind == "request")


@cache
def failing(adapter: Adapter) -> dict[str, CallCase]:
    """Return the case for each failing check."""
    build = vars(adapter)["build_request"]
    found = {}
    for case in cases():
        assert isinstance(case.expect, RequestExpectation)
        if case.api in adapter.apis:
            try:
                body = build(case.api, case.input)
            except (StopIteration, KeyError, TypeError):
                # A crash before anything is sent fails the case as a whole.
                found[f"{case.id}:body"] = case
                continue
            checks = compare_request(case.api, case.expect, body, case.level)
            found |= {f"{case.id}:{each.path}": case for each in checks if each.verdict in ("fail", "warn")}
    return found


def test_the_reference_passes_every_case():
    assert failing(reference) == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_fails_some_checks_and_only_those_it_names(name):
    wrong = failing(MUTANTS[name].adapter)
    assert wrong
    globs = MUTANTS[name].fails
    assert [check for check in wrong if not any(matches(glob, check) for glob in globs)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_case_in_each_api_catches_the_mutant(name):
    adapter = MUTANTS[name].adapter
    assert {case.api for case in failing(adapter).values()} == set(adapter.apis)


def test_every_api_with_a_request_builder_has_a_mutant():
    assert {api for name in NAMES for api in MUTANTS[name].adapter.apis} == set(REQUEST_BUILDERS)
