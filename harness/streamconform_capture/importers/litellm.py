"""Read the interactions that LiteLLM's end-to-end tests record, one JSON file each.

A streamed answer is kept chunk by chunk, so its chunk boundaries are those of the network
(https://github.com/BerriAI/litellm/pull/38136). No times and no request headers are recorded.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import ChunkMark
from streamconform_capture.importers.exchange import (
    Entry,
    ImportedExchange,
    NotImportable,
    join_headers,
    require,
)

RECIPE: Final = (
    "Imported from an interaction recorded by LiteLLM with `conform import`; no times were recorded"
)


def is_interaction(data: bytes) -> bool:
    """Return whether `data` should be read as an interaction."""
    return data.lstrip()[:1] == b"{" and (b'"chunks_b64"' in data or b'"body_b64"' in data)


def read(path: Path, data: bytes) -> Iterator[Entry]:
    """Yield the exchange in `data`. Raises `SourceError` if it is not JSON."""
    try:
        interaction = require(json.loads(data), dict, "the file")
    except (ValueError, RecursionError) as error:
        raise SourceError((Problem(str(path), None, f"not an interaction of LiteLLM: {error}"),)) from error
    yield Entry(path.name, partial(_read_interaction, path.name, interaction))


def _read_interaction(where: str, interaction: dict[str, Any]) -> ImportedExchange:
    request = require(interaction.get("request"), dict, "`request`")
    response = require(interaction.get("response"), dict, "`response`")
    texts = response.get("chunks_b64", [response.get("body_b64")])
    try:
        chunks = [
            b64decode(require(text, str, "a chunk"), validate=True)
            for text in require(texts, list, "`chunks_b64`")
        ]
    except binascii.Error as error:
        raise NotImportable(f"its body is not base64: {error}") from error
    starts = accumulate((len(chunk) for chunk in chunks), initial=0)
    marks = tuple(ChunkMark(start, 0) for start, chunk in zip(starts, chunks, strict=False) if chunk)
    truncated = response.get("truncated")
    sent = request.get("body")
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=require(response.get("status_code"), int, "its status"),
        headers=join_headers(require(response.get("headers"), dict, "`headers`").items()),
        body=b"".join(chunks),
        url=f"http://recorded{require(request.get('path'), str, '`path`')}",
        method=require(request.get("method"), str, "`method`").upper(),
        request_body=None
        if sent is None
        else json.dumps(sent, ensure_ascii=False).encode("utf-8", "replace"),
        marks=marks if "chunks_b64" in response else (),
        note=None
        if truncated is None
        else f"The recording was cut short: {require(truncated, str, '`truncated`')[:200]}.",
    )
