"""The list of survivors is well-formed, and mutations are described without line numbers."""

from __future__ import annotations

import pytest

from streamconform_dev.checkout import ROOT
from streamconform_dev.mutation.survivors import (
    Mutation,
    Survivor,
    find_malformed,
    format_entry,
    is_exempt,
    load_survivors,
    make_mutation,
)
from streamconform_dev.mutation.workspace import DESELECTED

BEFORE = "def half(n):\n    if n < 0:\n        raise ValueError('n is negative')\n    return n // 2\n"


def test_every_listed_survivor_still_matches_the_source():
    assert [*find_malformed(load_survivors())] == []


@pytest.mark.parametrize("name", DESELECTED)
def test_every_deselected_test_exists(name):
    path, _, function = name.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize(
    ("after", "original", "mutated"),
    [
        (BEFORE.replace("n < 0", "n <= 0"), "if n < 0:", "if n <= 0:"),
        (BEFORE.replace("n // 2", "None"), "return n // 2", "return None"),
    ],
)
def test_a_mutation_has_only_the_changed_lines(after, original, mutated):
    assert make_mutation("m.half", BEFORE, after) == Mutation("m.half", original, mutated)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BEFORE.replace("n is negative", "XXn is negativeXX"), True),
        (BEFORE.replace("'n is negative'", "None"), False),
        (BEFORE.replace("n // 2", "n // 3"), False),
    ],
)
def test_only_wording_is_exempt(after, expected):
    assert is_exempt(BEFORE, after) is expected


@pytest.mark.parametrize(
    ("function", "original", "problem"),
    [
        ("streamconform.known_failures.model.KnownFailures.applies_to", "return 1", "has no line `return 1`"),
        ("streamconform.known_failures.model.nothing", "return 1", "no such function"),
        ("streamconform.nothing.at_all", "return 1", "no such function"),
    ],
)
def test_an_entry_that_matches_no_source_is_reported(function, original, problem):
    survivor = Survivor(Mutation(function, original, "return 2"), "a reason")
    (message,) = find_malformed([survivor])
    assert problem in message


def test_an_entry_needs_a_reason(tmp_path):
    path = tmp_path / "survivors.yaml"
    path.write_text(format_entry(Mutation("m.half", "a", "b")), "utf-8")
    with pytest.raises(ValueError, match=r"m\.half: explain why"):
        load_survivors(path)
