"""The bundled profiles: what is frozen, and what `core` holds."""

from __future__ import annotations

from collections import Counter

import pytest
from streamconform.apis import APIS
from streamconform.model.trial import DELIVERIES
from streamconform.resources import find_bundled
from streamconform.suite.load import Sources, load
from streamconform.suite.profiles import load_profiles

CASES = load(Sources(find_bundled("specs"), find_bundled("cassettes")))
LEVELS = {case.id: case.level for case in CASES}
PROFILES = {each.name: each for each in load_profiles(find_bundled("specs"), tuple(LEVELS))}
CORE = [each for name, each in PROFILES.items() if name.startswith("core-")]


def of(listed):
    """Return how many cases of each api are in a list of ids."""
    return Counter(id_.partition("/")[0] for id_ in listed)


def test_there_is_a_core_and_a_profile_of_every_api():
    assert set(PROFILES) >= {"core-2026.1", *(f"{api}-2026.1" for api in APIS)}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_published_profile_is_frozen_sorted_and_judged_in_deliveries_that_everybody_must_take(profile):
    assert profile.frozen
    assert list(profile.cases) == sorted(set(profile.cases))
    assert profile.faults == "one"
    assert {DELIVERIES[name].level for name in profile.deliveries} == {"must"}


@pytest.mark.parametrize("core", CORE, ids=lambda core: core.name)
def test_core_is_some_cases_of_every_api_and_all_of_them_must(core):
    counts = of(core.cases)
    assert set(counts) == set(APIS)
    assert min(counts.values()) >= 12
    assert max(counts.values()) <= 18
    assert [id_ for id_ in core.cases if LEVELS[id_] != "must"] == []


@pytest.mark.parametrize("core", CORE, ids=lambda core: core.name)
@pytest.mark.parametrize("api", APIS)
def test_core_asks_every_api_for_calls_their_ends_errors_and_cuts(core, api):
    tags = {tag for case in CASES if case.id in core.cases and case.api == api for tag in case.tags}
    assert tags >= {"text", "tool_calls", "stop", "thinking", "usage", "errors", "truncation"}


@pytest.mark.parametrize("api", APIS)
def test_the_profile_of_an_api_is_about_that_api(api):
    assert set(of(PROFILES[f"{api}-2026.1"].cases)) == {api}
