"""Profiles: frozen lists of cases, and the mistakes in their files."""

from __future__ import annotations

import pytest

from streamconform.errors import SelectionError, SourceError
from streamconform.suite.profiles import find_release, list_profile_names, load_profile, load_profiles

from . import builders

CASES = tuple(
    builders.case(id=f"anthropic-messages/{name}") for name in ("text/one", "text/two", "usage/three")
)
IDS = tuple(case.id for case in CASES)
CORE = """\
profile: 1
name: core-1
title: What everybody needs
frozen: true
deliveries: [as-is, bytewise]
faults: one
cases:
  - anthropic-messages/usage/three
  - anthropic-messages/text/one
"""


@pytest.fixture
def specs(tmp_path):
    (tmp_path / "profiles").mkdir()
    return tmp_path


def put(specs, text, name="core-1"):
    (specs / f"profiles/{name}.yaml").write_text(text, "utf-8")


def test_a_profile_is_named_with_and_without_its_release(specs):
    for release in ("core-2026.1", "core-2026.2", "small-1"):
        put(specs, CORE, release)
    assert list_profile_names(specs) == ("core", "small-1", "core-2026.1", "core-2026.2", "next")


def test_a_profile_has_the_values_of_its_file(specs):
    put(specs, CORE)
    found = load_profile(specs, "core-1", IDS)
    assert (found.name, found.title, found.frozen) == ("core-1", "What everybody needs", True)
    assert (found.deliveries, found.faults) == (("as-is", "bytewise"), "one")
    assert found.cases == ("anthropic-messages/usage/three", "anthropic-messages/text/one")
    assert load_profiles(specs, IDS) == (found,)


def test_next_is_every_case_that_no_profile_lists_and_leaves_deliveries_to_the_options(specs):
    put(specs, CORE)
    rest = load_profile(specs, "next", IDS)
    assert (rest.name, rest.title) == ("next", "Cases in no profile yet")
    assert rest.cases == ("anthropic-messages/text/two",)
    assert (rest.deliveries, rest.faults, rest.frozen) == (None, None, False)
    with pytest.raises(SelectionError, match="selects nothing"):
        load_profile(specs, "next", (IDS[0], IDS[2]))


def test_without_any_profile_next_is_everything(tmp_path):
    assert load_profile(tmp_path, "next", IDS).cases == IDS


def test_a_name_without_a_release_is_the_newest_frozen_release(specs):
    for name in ("core-2026.2", "core-2026.10", "core-x-2027.1"):
        put(specs, CORE.replace("core-1", name), name)
    put(specs, CORE.replace("core-1", "core-2027.1").replace("frozen: true", "frozen: false"), "core-2027.1")
    assert load_profile(specs, "core", IDS).name == "core-2026.10"
    assert find_release(specs, "core") == "core-2027.1"
    assert find_release(specs, "cor") is None
    put(specs, CORE.replace("core-1", "core"), "core")
    assert load_profile(specs, "core", IDS).name == "core"


@pytest.mark.parametrize("name", ["other", "../x", ""])
def test_an_unknown_profile_is_an_error_that_lists_the_available_ones(specs, name):
    put(specs, CORE)
    with pytest.raises(SelectionError, match=r"available: `core-1`, `next`"):
        load_profile(specs, name, IDS)


WRONG = [
    ("profile: 1", "profile: 2", 1, "`profile`"),
    ("name: core-1", "name: core-2", 2, "they must match"),
    ("frozen: true", "frozen: sometimes", 4, "is not a boolean"),
    ("as-is", "pigeon", 5, "is not one of"),
    ("faults: one", "faults: some", 6, "is not one of"),
    ("text/one", "text/oen", 9, "closest cases: `anthropic-messages/text/one`"),
    ("text/one", "usage/three", 9, "duplicate case `.*`, first listed on line 8"),
    ("text/one", "text/*", 9, "does not match"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), WRONG, ids=[row[1] for row in WRONG])
def test_a_mistake_is_reported_with_its_line(specs, old, new, line, message):
    put(specs, CORE.replace(old, new))
    with pytest.raises(SourceError, match=message) as caught:
        load_profile(specs, "core-1", IDS)
    assert [problem.line for problem in caught.value.problems] == [line]


def test_all_mistakes_of_all_profiles_are_reported_at_once(specs):
    put(specs, CORE.replace("name: core-1", "name: core-2").replace("text/one", "text/no"))
    put(specs, CORE.replace("core-1", "next"), "next")
    with pytest.raises(SourceError) as caught:
        load_profiles(specs, IDS)
    assert [problem.line for problem in caught.value.problems] == [2, 9, 2]
    assert "choose another name" in str(caught.value)
