"""What a Python adapter is called with: a body to read, or a server to ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any


class Chunks:
    """The body, chunk by chunk, as `for` and `async for` take it; counts what was taken."""

    def __init__(self, chunks: list[bytes]) -> None:
        """Hold `chunks`; none is taken yet."""
        self.taken = 0
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks that are left."""
        for chunk in islice(self._chunks, self.taken, None):
            self.taken += 1
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks that are left, letting other tasks run in between."""
        for chunk in self:
            await asyncio.sleep(0)
            yield chunk


@dataclass(frozen=True, slots=True)
class Run:
    """What an adapter is called with."""

    api: str
    status: int
    headers: Mapping[str, str]
    """Lower-case names."""
    chunks: Chunks
    request: Mapping[str, Any] | None = None
    model: str | None = None
    pricing: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HttpRun:
    """What an adapter is called with that asks a server itself; it has no `chunks`."""

    api: str
    base_url: str
    """Stands for the provider's; without a slash at the end."""
    api_key: str
    request: Mapping[str, Any] | None = None
    model: str | None = None
    pricing: Mapping[str, Any] | None = None
    conversation: Mapping[str, Any] | None = None
    """What to ask the server with in place of `request`, where requests are judged."""
    results: Sequence[Mapping[str, Any]] | None = None
    """`{name, content, error?}`: ask twice, then with these results of the first answer's calls."""


AnyRun = Run | HttpRun
