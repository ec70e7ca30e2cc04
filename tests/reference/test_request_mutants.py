"""Each request mutant is caught by a case, and fails only the checks it names."""

from __future__ import annotations

from functools import cache

from streamconform.judge.request import compare_request
from streamconform.model.case import CallCase
from streamconform.model.request import RequestExpectation
from streamconform.model.verdict import CheckVerdict
from streamconform_mutants import MUTANTS
from streamconform_reference import adapter as reference
from streamconform_reference.adapter import Adapter
from streamconform_reference.apis import REQUEST_BUILDERS

from .. import bundled_suite
from ..for_each import for_each
from .test_mutants import matches

NAMES = sorted(name for name, mutant in MUTANTS.items() if "request" in mutant.paths)


@cache
def cases() -> tuple[CallCase, ...]:
    calls = (case for case in bundled_suite.cases() if isinstance(case, CallCase))
    return tuple(case for case in calls if case.kind == "request")


@cache
def failing(adapter: Adapter, verdicts: tuple[CheckVerdict, ...] = ("fail", "warn")) -> dict[str, CallCase]:
    """Return the case for each check with one of the verdicts."""
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
            found |= {f"{case.id}:{each.path}": case for each in checks if each.verdict in verdicts}
    return found


def test_the_reference_passes_every_case():
    assert failing(reference) == {}


@for_each("name", NAMES)
def test_a_mutant_fails_some_checks_and_only_those_it_names(name):
    wrong = failing(MUTANTS[name].adapter)
    assert wrong
    globs = MUTANTS[name].fails
    assert [check for check in wrong if not any(matches(glob, check) for glob in globs)] == []


@for_each("name", NAMES)
def test_a_case_in_each_api_catches_the_mutant(name):
    adapter = MUTANTS[name].adapter
    # A mutant that differs from the reference only at level `may` is caught too.
    known = failing(reference, ("may",))
    differing = [case for check, case in failing(adapter, ("may",)).items() if check not in known]
    assert {case.api for case in [*differing, *failing(adapter).values()]} == set(adapter.apis)


def test_every_api_with_a_request_builder_has_a_mutant():
    assert {api for name in NAMES for api in MUTANTS[name].adapter.apis} == set(REQUEST_BUILDERS)
