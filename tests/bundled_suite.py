"""The bundled suite, loaded once per process and only by the tests that read it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from streamconform.model.case import AnyCase, BehaviorCase, Case
from streamconform.model.cassette import Cassette
from streamconform.resources import find_bundled
from streamconform.suite.load import Sources, load

T = TypeVar("T")
NIGHTLY = "STREAMCONFORM_NIGHTLY" in os.environ
"""Whether tests read all that they can, as `make test-nightly` does."""

SOURCES = Sources(find_bundled("specs"), find_bundled("cassettes"))


def sample(values: Sequence[T]) -> Sequence[T]:
    """Return every fourth value, or all of them at night, for a claim about each value alone."""
    return values if NIGHTLY else values[::4]


@cache
def cases() -> tuple[AnyCase, ...]:
    """Return every case of every kind. Raises `SourceError`."""
    return load(SOURCES)


@cache
def scripts(api: str) -> tuple[BehaviorCase, ...]:
    """Return the cases of an API about what a client does on its connections, without loading the others."""
    loaded = load(SOURCES, [SOURCES.specs / api / "behavior.yaml"])
    return tuple(case for case in loaded if isinstance(case, BehaviorCase))


@cache
def streams() -> tuple[Case, ...]:
    """Return the cases about one stream."""
    return tuple(case for case in cases() if isinstance(case, Case) and case.stream)


@cache
def documents() -> tuple[Case, ...]:
    """Return the cases about one non-streaming answer."""
    return tuple(case for case in cases() if isinstance(case, Case) and not case.stream)


@cache
def cassettes() -> tuple[Cassette, ...]:
    """Return the cassettes of `streams`, each once."""
    return tuple({(case.api, case.cassette.name): case.cassette for case in streams()}.values())
