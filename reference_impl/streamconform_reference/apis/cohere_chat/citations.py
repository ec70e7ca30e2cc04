"""Citations of both API versions; in the stream, one citation has a list of sources.

Source: https://docs.cohere.com/docs/retrieval-augmented-generation-rag, https://docs.cohere.com/v1/reference/chat
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from streamconform_reference.decoding.citations import CitationFields
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.outcome import Citation

_CITATION: Final = CitationFields(source=(), start="start", end="end")
_SOURCE: Final = CitationFields(source=("id",), title=("title",))


def read_citations(data: Payload) -> Iterator[Citation]:
    """Yield a citation for each source, which is an object in version 2 and a document's id in version 1."""
    whole = _CITATION.read(data)
    sources = _read_list(data, "sources") or _read_list(data, "document_ids")
    for source in sources or (None,):  # without sources, one is unknown
        if not isinstance(source, dict):
            yield replace(whole, source=source if isinstance(source, str) else None)
            continue
        document = source.get("document")
        named = _SOURCE.read(
            {"id": source.get("id"), "title": document.get("title") if isinstance(document, dict) else None}
        )
        yield replace(whole, source=named.source, title=named.title)


def _read_list(holder: Payload, key: str) -> list[Any]:
    value = holder.get(key)
    return value if isinstance(value, list) else []
