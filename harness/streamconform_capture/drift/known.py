"""Collect the known shapes: those found in the suite's streams, in pulled streams, and in official types."""

from __future__ import annotations

from streamconform.apis import APIS
from streamconform.model.case import Case
from streamconform.suite.load import Sources, list_spec_files, load
from streamconform.suite.shapes import Shape, read_known, read_shapes


def collect_known(sources: Sources, api: str) -> frozenset[Shape]:
    """Return the known shapes of `api`.

    Raises:
        SourceError: a spec, a cassette or the list of shapes cannot be read.

    """
    files = [path for path in list_spec_files(sources.specs) if path.parent.name == api]
    # Without the pulled recordings, whose shapes are in the committed list, so that the result does not
    # depend on what the user has pulled.
    cases = load(Sources(sources.specs, sources.cassettes), files)
    bundled = {case.cassette.name: case.cassette for case in cases if isinstance(case, Case)}
    shapes = {shape for cassette in bundled.values() for shape in read_shapes(cassette)}
    return frozenset(shapes | read_known(sources.specs, APIS[api].name).origins.keys())
