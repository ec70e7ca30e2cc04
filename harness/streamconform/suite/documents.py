"""Find a cassette's non-streaming answer: its twin, or its own body. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from streamconform.apis import APIS
from streamconform.model.cassette import Cassette

_OF_THE_STREAM: Final = frozenset(
    {"accept", "cache-control", "content-encoding", "content-length", "transfer-encoding"}
)
"""Headers that a non-streaming exchange does not share with its stream."""


def take_document(cassette: Cassette) -> Cassette | None:
    """Return the non-streaming exchange, or None if `cassette` has only a stream.

    A twin's exchange contains the non-streaming request, which `conform record --twin` sends.
    """
    api, request = APIS[cassette.api], cassette.request
    if cassette.twin is not None:
        return replace(
            cassette,
            request=replace(
                request,
                path=api.endpoints.document_path(request.path),
                headers=_keep_shared(request.headers),
                body=api.write_document_body(request.body),
            ),
            headers=_keep_shared(cassette.headers) | {"content-type": "application/json"},
            body=cassette.twin,
            suffix="twin.json",
            marks=(),
            twin=None,
        )
    return cassette if is_document(cassette) else None


def is_document(cassette: Cassette) -> bool:
    """Return whether the body in `cassette` is a non-streaming answer."""
    return cassette.suffix == "json" and not APIS[cassette.api].requests_stream(cassette.request)


def _keep_shared(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _OF_THE_STREAM}
