"""A cassette: one recorded exchange (DESIGN: `cassette.v1.json`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

MODEL_IN_PATH: Final = re.compile(r"/models?/([^/?]+?)(?::streamGenerateContent|/converse-stream)(?:\?|$)")
"""Where google-generate and bedrock-converse name the model."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Bytes that a live server sent."""

    server: str
    model: str
    date: str
    tool: str
    note: str | None = None
    kind: Literal["recorded"] = "recorded"


@dataclass(frozen=True, slots=True)
class Derived:
    """Bytes made from another cassette by a recipe that anyone can repeat."""

    source: str
    """Name of the cassette it was made from (`from` in the file)."""
    recipe: str
    note: str | None = None
    kind: Literal["derived"] = "derived"


@dataclass(frozen=True, slots=True)
class Authored:
    """Bytes written by hand from a documented format."""

    source: str
    """Link to the documentation."""
    note: str | None = None
    kind: Literal["authored"] = "authored"


Provenance = Recorded | Derived | Authored


@dataclass(frozen=True, slots=True)
class ChunkMark:
    """Where a network read began."""

    offset: int
    """Bytes from the start of the body."""
    ms: int
    """Milliseconds since the request was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked, as a real client could send it. Header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Cassette:
    """A request and the response's raw bytes.

    `body` is what came over the wire after transfer decoding, untouched. `marks` is empty where the
    cuts are not known (authored bodies): then `recorded` hands over a frame at a time.
    """

    api: str
    name: str
    request: Request
    status: int
    headers: Mapping[str, str]
    body: bytes
    suffix: str
    """Of the body's file: sse, ndjson, json or eventstream."""
    marks: tuple[ChunkMark, ...]
    provenance: Provenance
    twin: bytes | None = None
    """The non-streaming answer to the same request."""

    @cached_property
    def sha256(self) -> str:
        """Return the digest of the body, 64 hexadecimal digits."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def content_type(self) -> str:
        """Return the media type without parameters, lower-case; empty where none was sent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def model(self) -> str | None:
        """Return the model that the request names in its body, or else in its path, if any."""
        model = self.request.body.get("model")
        if isinstance(model, str):
            return model
        named = MODEL_IN_PATH.search(self.request.path)
        return _unquoted(named[1]) if named else None


def _unquoted(text: str) -> str:
    """Return `text` with its percent escapes as what they stand for."""
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())
    return data.decode("utf-8", "replace")
