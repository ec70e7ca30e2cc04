"""The bundled suite, loaded once per process and only by the tests that read it."""

from __future__ import annotations

from functools import cache

from streamconform.model.case import AnyCase, Case
from streamconform.model.cassette import Cassette
from streamconform.resources import find_bundled
from streamconform.suite.load import Sources, load

SOURCES = Sources(find_bundled("specs"), find_bundled("cassettes"))


@cache
def cases() -> tuple[AnyCase, ...]:
    """Return every case of every kind. Raises `SourceError`."""
    return load(SOURCES)


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
