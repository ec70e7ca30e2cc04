"""Mutants that go wrong where a chunk ends: `windows`, the delivery of comparisons, finds all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from streamconform.delivery.deliver import deliver
from streamconform.delivery.stream import Stream
from streamconform.model.cassette import Cassette
from streamconform_dev.fuzz.exchange import assert_event_rules, decode
from streamconform_mutants import MUTANTS, borders
from streamconform_reference import adapter as reference

from ..bundled_suite import cassettes
from ..harness import builders
from .test_mutants import leaves, matches

OTHERS = ("utf8-per-chunk", "record-parsed-by-read", "array-parsed-by-read", "read-as-message")
"""Mutants of other modules that depend on where the chunks end."""
RARE = re.compile(rb"\\u[dD]8|\r\n")
MOST_STREAMS = 40
LARGEST = 8_000


@cache
def streams(api: str) -> tuple[Cassette, ...]:
    """Return some streams; those with something rare come first."""
    small = [
        each for each in cassettes() if (each.api, each.status) == (api, 200) and len(each.body) < LARGEST
    ]
    small.sort(key=lambda each: (RARE.search(each.body) is None, each.name[::-1]))
    return tuple(small[:MOST_STREAMS])


def read(adapter: Any, cassette: Cassette, delivery: str) -> dict[str, Any]:
    stream = Stream(replace(builders.case(), api=cassette.api, cassette=cassette))
    chunks = deliver(stream, delivery, f"0:{cassette.name}")
    answer = decode([*chunks], adapter=adapter, api=cassette.api)
    assert_event_rules(answer)
    return leaves(answer.outcome)


def failing_checks(name: str, delivery: str) -> Iterator[str]:
    adapter = MUTANTS[name].adapter
    (api,) = adapter.apis
    for cassette in streams(api):
        right, wrong = read(reference, cassette, delivery), read(adapter, cassette, delivery)
        for path in right | wrong:
            if right.get(path) != wrong.get(path):
                yield f"{api}/sample/{cassette.name}@{delivery}:{path}"


@pytest.mark.parametrize("name", [*borders.mutants.table, *OTHERS])
@pytest.mark.parametrize("delivery", ["bytewise", "windows"])
def test_a_mutant_that_depends_on_the_chunks_is_found(name: str, delivery: str) -> None:
    assert next(failing_checks(name, delivery), None) is not None


@pytest.mark.parametrize("name", borders.mutants.table)
def test_a_border_mutant_reads_uncut_streams_right_and_fails_only_the_checks_it_names(name: str) -> None:
    assert [*failing_checks(name, "whole")] == []
    globs = MUTANTS[name].fails
    checks = failing_checks(name, "bytewise")
    assert [check for check in checks if not any(matches(glob, check) for glob in globs)] == []
