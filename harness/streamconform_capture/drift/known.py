"""Collect the known shapes: those found in the suite's answers, in pulled streams, and in official types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streamconform.apis import APIS
from streamconform.model.case import Case
from streamconform.suite.documents import take_document
from streamconform.suite.load import Sources, list_spec_files, load
from streamconform.suite.shapes import (
    DOCUMENT,
    ORDER,
    Shape,
    read_document_shapes,
    read_known,
    read_shapes,
)

HOLDERS: Final = ("message.", "response.", "interaction.", "delta.")
"""The members in which the events of a stream have parts of the document."""


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
    shapes |= read_known(sources.specs, APIS[api].name).origins.keys()
    documents = filter(None, map(take_document, bundled.values()))
    whole = {shape for each in documents for shape in read_document_shapes(each.body)}
    return frozenset(shapes | whole | set(_list_document_shapes(shapes)))


def _list_document_shapes(shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Yield the shapes that a document has if its members are those of the events, as the providers say."""
    for shape in shapes:
        if shape.type != ORDER:
            holder = next(filter(shape.path.startswith, HOLDERS), "")
            message = shape.path.replace("choices[].delta", "choices[].message")
            paths = {shape.path, shape.path.removeprefix(holder), message}
            yield from (Shape(DOCUMENT, path, shape.type) for path in paths)
