"""Count the suite's streams by provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.cassette import Cassette
from streamconform.suite.load import Sources, list_spec_files, load

KINDS: Final[Mapping[str, str]] = {
    "recorded": "from engines that this project ran; the bytes are committed",
    "derived": "made from another stream in this suite by a recipe",
    "authored": "written from documentation; no server sent these bytes",
    "pulled": "recorded and published by others; the user fetches the bytes (docs/recorded.md)",
}
"""The kinds of provenance and their meanings, in the order in which they are printed."""


def count_streams(sources: Sources) -> dict[str, Counter[str]]:
    """Return the number of streams by API and kind; a stream that several cases name counts once.

    Pulled recordings are counted by their specs, whether or not they are in the cache.
    """
    files = list_spec_files(sources.specs, recorded=True)
    cases = load(Sources(sources.specs, sources.cassettes), files)
    streams = {_identify(cassette): cassette for case in cases for cassette in _iter_cassettes(case)}
    counts: dict[str, Counter[str]] = {}
    for cassette in streams.values():
        counts.setdefault(cassette.api, Counter())[cassette.provenance.kind] += 1
    return counts


def _iter_cassettes(case: AnyCase) -> Iterator[Cassette]:
    match case:
        case Case(cassette=cassette):
            yield cassette
        case RoundTripCase(answers=answers):
            yield from (answer.cassette for answer in answers)
        case _:
            pass


def _identify(cassette: Cassette) -> tuple[str, ...]:
    """Return the key that identifies a stream; a pulled stream's name is unique only within its source."""
    origin = cassette.provenance
    source = origin.source if origin.kind == "pulled" else ""
    return cassette.api, source, cassette.name
