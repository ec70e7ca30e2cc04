"""Citations: annotations of the message, and a list of URLs next to the choices.

Source: https://platform.openai.com/docs/api-reference/chat/object for annotations, and for the list
https://docs.perplexity.ai/api-reference/sonar-post and https://docs.x.ai/docs/guides/live-search. Every chunk
may repeat the list: the last non-empty one wins.

A message has only one text, so all citations belong to the first text block.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.citations import CitationFields
from streamconform_reference.outcome import Citation

_URL_CITATION: Final = "url_citation"
_FIELDS: Final = CitationFields(source=("url",), title=("title",), start="start_index", end="end_index")


class Citations:
    """The citations of one answer."""

    def __init__(self, message: Assembler) -> None:
        """Start with none."""
        self._message = message
        self._annotations: list[Citation] = []
        self._urls: list[Citation] = []

    def annotate(self, annotations: Any) -> None:
        """Append annotations."""
        for annotation in annotations if isinstance(annotations, list) else ():
            self._annotations.append(read_annotation(annotation))

    def settle(self, urls: Any, slot: Hashable) -> None:
        """Read the list of URLs, if there is one, and attach all citations to the text in `slot`, if any."""
        if isinstance(urls, list) and urls:
            self._urls = [Citation(source=url if isinstance(url, str) else None, data=url) for url in urls]
        if slot is not None and (self._annotations or self._urls):
            self._message.cite(slot, [*self._annotations, *self._urls], replaces=True)


def read_annotation(annotation: Any) -> Citation:
    """Return an annotation; its fields are nested under its type."""
    inner = annotation.get(_URL_CITATION) if isinstance(annotation, dict) else None
    named = _FIELDS.read(inner)
    return Citation(source=named.source, title=named.title, start=named.start, end=named.end, data=annotation)
