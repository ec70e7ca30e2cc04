"""The bundled profiles: frozen ones, and the contents of `core`."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from functools import cache

import pytest

from streamconform.apis import APIS
from streamconform.model.trial import DELIVERIES
from streamconform.suite.profiles import load_profile, load_profiles

from ..bundled_suite import SOURCES, cases

FILES = {path.stem: path for path in sorted((SOURCES.specs / "profiles").glob("*.yaml"))}
CORE = [name for name in FILES if name.startswith("core-")]


@cache
def profiles():
    return {
        profile.name: profile for profile in load_profiles(SOURCES.specs, tuple(case.id for case in cases()))
    }


def of(listed):
    """Return the number of cases of each API in a list of ids."""
    return Counter(id_.partition("/")[0] for id_ in listed)


def find_released_apis(core):
    """Return the APIs with a profile of that release or an earlier one; core has no later ones."""
    release = core.removeprefix("core-")
    matches = (re.fullmatch(r"(.+)-(\d{4}\.\d+)", name) for name in FILES)
    return {match[1] for match in matches if match and match[1] in APIS and match[2] <= release}


def test_there_is_a_core_and_a_profile_of_every_api():
    assert set(profiles()) == set(FILES)
    assert [
        api for api in APIS if not any(re.fullmatch(rf"{api}-\d{{4}}\.\d+", name) for name in FILES)
    ] == []
    assert "core-2026.1" in FILES


@pytest.mark.parametrize("name", FILES)
def test_a_published_profile_is_frozen_sorted_and_judged_in_deliveries_that_everybody_must_take(name):
    profile = profiles()[name]
    assert profile.frozen
    assert list(profile.cases) == sorted(set(profile.cases))
    assert profile.faults == "one"
    assert {DELIVERIES[name].level for name in profile.deliveries} == {"must"}


LOWERED = {"google-generate/errors/error-after-whole-call", "google-generate/errors/error-mid-text"}
"""Cases that turned out to be too strict after a core profile was frozen, and now only warn."""


@pytest.mark.parametrize("core", CORE)
def test_core_is_some_cases_of_every_api_and_all_of_them_must(core):
    counts = of(profiles()[core].cases)
    assert set(counts) == find_released_apis(core)
    assert min(counts.values()) >= 12
    assert max(counts.values()) <= 30
    levels = {case.id: case.level for case in cases()}
    assert {id_ for id_ in profiles()[core].cases if levels[id_] != "must"} <= LOWERED


@pytest.mark.parametrize("core", CORE)
def test_core_asks_every_api_for_calls_their_ends_errors_and_cuts(core):
    listed = set(profiles()[core].cases)
    for api in find_released_apis(core):
        tags = {tag for case in cases() if case.id in listed and case.api == api for tag in case.tags}
        assert tags >= {"text", "tool_calls", "stop", "thinking", "usage", "errors", "truncation"}, api


def test_a_later_core_keeps_the_cases_of_an_earlier_one():
    for earlier, later in itertools.pairwise(CORE):
        assert set(profiles()[earlier].cases) <= set(profiles()[later].cases)


def test_core_without_a_release_is_the_newest():
    assert load_profile(SOURCES.specs, "core", [case.id for case in cases()]).name == CORE[-1]


@pytest.mark.parametrize("name", [name for name in FILES if name not in CORE])
def test_the_profile_of_an_api_is_about_that_api(name):
    assert set(of(profiles()[name].cases)) == {name.rpartition("-")[0]}
