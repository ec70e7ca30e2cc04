"""One exchange between a client and a server that `listen` has heard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from streamconform.apis import APIS
from streamconform.model.cassette import ChunkMark
from streamconform_capture.record.live import MAX_BYTES, Cut, add_mark


@dataclass(slots=True, kw_only=True)
class Overheard:
    """One exchange, complete or not. Header names are lower-case.

    Over a WebSocket, the status is 101, and the body has the messages that answer one request, one per line.
    """

    number: int
    """The request's number, counted from 1 in order of arrival."""
    method: str
    target: str
    """The path and query of the client's request."""
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int | None = None
    """The status of the answer; None until the server answers."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    marks: list[ChunkMark] = field(default_factory=list)
    is_whole: bool = False
    """Whether the server ended its answer."""
    cut: Cut | None = None
    received: int = 0
    """The number of bytes of the answer's body that arrived, which may be more than `body` holds."""
    failure: str | None = None
    """Why there is no answer."""

    def store(self, data: bytes, sent_at: float) -> None:
        """Add a chunk of the answer, which has arrived now, as far as there is room."""
        self.received += len(data)
        kept = data[: MAX_BYTES - len(self.body)]
        if kept:
            add_mark(self.marks, len(self.body), sent_at)
            self.body += kept
        if len(kept) < len(data):
            self.cut = "too_large"


@dataclass(slots=True)
class Received:
    """What a server has sent in all exchanges."""

    answers: int = 0
    bytes: int = 0


def detect_api(target: str) -> str | None:
    """Return the API that `target`, a path and query, belongs to."""
    path = unquote(target.partition("?")[0])
    for name, api in APIS.items():
        document = api.importing.document
        if api.importing.stream.search(path) or (document is not None and document.search(path)):
            return name
    return None
