"""The argument passed to a Python adapter: a response body to read, or a server to call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any


class Chunks:
    """The body, one chunk at a time, for `for` and `async for`; counts the chunks read so far."""

    def __init__(self, chunks: list[bytes]) -> None:
        """Store `chunks`, of which none has been read yet."""
        self.taken = 0
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        """Yield the remaining chunks."""
        for chunk in islice(self._chunks, self.taken, None):
            self.taken += 1
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the remaining chunks, letting other tasks run before each one."""
        import asyncio  # only asynchronous adapters need it

        for chunk in self:
            # A real network read would suspend here. Without this, an adapter with a separate consumer task
            # would read the whole body before that task runs once.
            await asyncio.sleep(0)
            yield chunk


@dataclass(frozen=True, slots=True)
class BytesInput:
    """A response as bytes, for an adapter whose input is `bytes`."""

    api: str
    status: int
    headers: Mapping[str, str]
    """Lower-case names."""
    chunks: Chunks
    request: Mapping[str, Any] | None = None
    model: str | None = None
    pricing: Mapping[str, Any] | None = None
    stream: bool = True
    """False for a non-streaming answer, whose body is one JSON document."""
    transport: str = "http"
    """`websocket` if the chunks are the frames that a server sends after the handshake."""


@dataclass(frozen=True, slots=True)
class HttpInput:
    """The server to send requests to, for an adapter whose input is `http`. There are no `chunks`."""

    api: str
    base_url: str
    """The URL to use instead of the provider's base URL, without a trailing slash; `ws:` for a WebSocket."""
    api_key: str
    request: Mapping[str, Any] | None = None
    model: str | None = None
    pricing: Mapping[str, Any] | None = None
    conversation: Mapping[str, Any] | None = None
    """The conversation to send, in cases that check requests; only a round trip has it as `request` too."""
    results: Sequence[Mapping[str, Any]] | None = None
    """The tool results of the only turn, if there is one and it has no messages."""
    turns: Sequence[Mapping[str, Any]] | None = None
    """For each further request what to add after the answer before it: `{results?, messages?}`.

    The results are `{name, content, error?}`, and the messages are those of a conversation.
    """
    stream: bool = True
    """False if the client must request a non-streaming answer."""
    transport: str = "http"
    """`websocket` if the client must connect with a WebSocket."""
    control: Mapping[str, Any] | None = None
    """What to do besides reading the answer, for adapters that claim it: see docs/behavior.md."""


AdapterInput = BytesInput | HttpInput
