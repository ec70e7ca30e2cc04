"""A cassette: one recorded exchange (`cassette.v1.json`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from msgspec import Struct

SWITCHED: Final = 101
"""The status of a handshake. The body of such a cassette has the messages of the server, one per line."""
MODEL_IN_PATH: Final = re.compile(
    r"/models?/([^/?]+?)"
    r"(?::(?:streamG|g)enerateContent|/converse(?:-stream)?|/invoke(?:-with-response-stream)?)(?:\?|$)"
)
"""Matches the model in the path of a google-generate, bedrock-converse or bedrock-invoke request."""


class Recorded(Struct, frozen=True):
    """Bytes that a live server sent."""

    server: str
    model: str
    date: str
    tool: str
    note: str | None = None
    kind: Literal["recorded"] = "recorded"


class Derived(Struct, frozen=True):
    """Bytes derived from another cassette by a reproducible recipe."""

    source: str
    """Name of the original cassette (`from` in the file)."""
    recipe: str
    note: str | None = None
    kind: Literal["derived"] = "derived"


class Authored(Struct, frozen=True):
    """Bytes written by hand from a documented format."""

    source: str
    """Link to the documentation."""
    note: str | None = None
    kind: Literal["authored"] = "authored"


class Pulled(Struct, frozen=True):
    """Bytes recorded and published by another project, and fetched with `conform run --recorded --pull`."""

    source: str
    """Name and version, as in docs/recorded.md."""
    file: str
    """Path in the archive."""
    entry: int
    """The exchange's number in the file, counted from 1."""
    note: str | None = None
    kind: Literal["pulled"] = "pulled"


Provenance = Recorded | Derived | Authored | Pulled
Transport = Literal["http", "websocket"]


class ChunkMark(Struct, frozen=True):
    """The start of a chunk."""

    offset: int
    """Offset from the start of the body, in bytes."""
    ms: int
    """Milliseconds since the request was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The request, as a real client could send it. Header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


# No slots, because `cached_property` needs a `__dict__`.
@dataclass(frozen=True, kw_only=True)
class Cassette:
    """A request and the response's raw bytes.

    `body` contains the unchanged bytes from the wire, after transfer decoding. `marks` is empty if the chunks
    are unknown (authored bodies); the delivery `as-is` then has one chunk per frame.
    """

    api: str
    name: str
    request: Request
    status: int
    headers: Mapping[str, str]
    body: bytes
    suffix: str
    """Suffix of the body file: sse, ndjson, json or eventstream; twin.json for a twin's document."""
    marks: tuple[ChunkMark, ...]
    provenance: Provenance
    twin: bytes | None = None
    """The non-streaming answer to the same request."""

    @cached_property
    def sha256(self) -> str:
        """Return the digest of the body as 64 hexadecimal digits."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def transport(self) -> Transport:
        """Return what carried the exchange."""
        return "websocket" if self.status == SWITCHED else "http"

    @property
    def content_type(self) -> str:
        """Return the media type in lower case, without parameters, or an empty string if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def model(self) -> str | None:
        """Return the model named in the request's body, or else in its path, or None if neither names one."""
        model = self.request.body.get("model")
        if isinstance(model, str):
            return model
        match = MODEL_IN_PATH.search(self.request.path)
        return _decode_percent(match[1]) if match else None


def _decode_percent(text: str) -> str:
    """Return `text` with its percent escapes decoded."""
    # Not `urllib`, because the packages without I/O must not import it (tests/harness/test_architecture.py).
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes.fromhex(match[1].decode()), text.encode())
    return data.decode("utf-8", "replace")
