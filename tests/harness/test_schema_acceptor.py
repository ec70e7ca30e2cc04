"""The fast validator accepts only files that the published schemas allow."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from streamconform.schemas import accepts, build_validator
from streamconform.suite.load import list_spec_files
from streamconform.yaml_text import reader as yaml_text

from ..bundled_suite import sample

ROOT = Path(__file__).parents[2]
SPECS = list_spec_files(ROOT / "specs")
CASSETTES = sorted((ROOT / "cassettes").glob("*/*.yaml"))

STRANGE = (
    *(None, True, False, 0, 1, -1, 5.0, 5.5, 2**70, -(2**70)),
    *("", "x", "x\n", "X", "1", "0.5", "(", "a" * 600, "😀", "\ud800", "https://example.com/ x"),
    *([], [None], [1, True], ["a", "a"], {}, {"why": "x"}, {"matches": "("}, {"any_of": []}),
)
"""Values that a file may contain in place of the right ones."""


def read(path: Path) -> Any:
    return yaml_text.read(path).value


def small(path: Path) -> Any:
    """Return a file's document, reduced to one case and a few chunk marks."""
    document = read(path)
    if "cases" in document:
        document["cases"] = document["cases"][-1:]
    if "response" in document and "chunks" in document["response"]:
        document["response"]["chunks"] = document["response"]["chunks"][:2]
    return document


def one_of_a_kind(paths: list[Path]) -> list[Path]:
    """Return the first file of each API."""
    return list({path.parent.name: path for path in reversed(paths)}.values())


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in `value`."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield (*at, key)
        yield from places(member, (*at, key))


def changed(value: Any) -> Iterator[Any]:
    """Yield `value` with one part replaced, removed or added, in every way and place."""
    for *above, last in places(value):
        for strange in (*STRANGE, places):
            copy = deepcopy(value)
            inside = copy
            for key in above:
                inside = inside[key]
            if strange is not places:
                inside[last] = strange
            elif isinstance(inside, dict):
                inside["surplus"] = inside.pop(last)
            else:
                del inside[last]
            yield copy


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        *(("spec.v1", path) for path in sample(one_of_a_kind(SPECS))),
        *(("cassette.v1", path) for path in sample(one_of_a_kind(CASSETTES))),
    ],
    ids=lambda each: each.stem if isinstance(each, Path) else each,
)
def test_values_accepted_by_the_fast_path_match_the_schema(schema, path):
    judge = build_validator(schema, authored=True)
    both = [0, 0]
    for document in changed(small(path)):
        accepted = accepts(schema, document)
        both[accepted] += 1
        assert not accepted or judge.is_valid(document), document
    assert all(both), "some changes are harmless and most are not"


def test_bundled_files_are_accepted_fast_unless_they_hold_a_number_such_as_5_0():
    for schema, paths in (("spec.v1", SPECS), ("cassette.v1", CASSETTES)):
        slow = [path for path in sample(paths) if not accepts(schema, read(path))]
        assert all(".0" in path.read_text("utf-8") for path in slow), slow
