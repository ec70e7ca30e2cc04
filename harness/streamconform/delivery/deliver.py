"""Turn a stream and the name of a delivery into chunks. Pure."""

from __future__ import annotations

import random
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Final
from zlib import crc32

from streamconform.delivery import websocket
from streamconform.delivery.mangle import MANGLERS, mangle
from streamconform.delivery.stream import Stream
from streamconform.model.trial import find_transport
from streamconform.wire.framings import split

MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
BYTES = tuple(bytes((i,)) for i in range(256))
CHUNK_SIZES = (1, 2, 3, 5, 17, 64, 200, 1000)
"""Chunk sizes for the delivery `random`: less than a token, less than a line, and several frames."""

WINDOW: Final = 48
"""The number of cuts in a window of the delivery `windows`."""
PLACES: Final = tuple(
    map(
        re.compile,
        (
            rb"[}\r\n]\r?\n",  # the end of an event or of a record
            rb"\ndata:",
            rb"\}\s*,\s*\{",  # between the elements of an array
            rb"\0\0\0",  # the lengths at the start of a binary message
            rb"\\u[dD][89abAB]..\\",  # a surrogate pair
            rb"\\",  # any escape
            rb"[\xc2-\xf4]",  # a multi-byte character
        ),
    )
)
"""Where parsers go wrong if a chunk ends there."""


def deliver(stream: Stream, name: str, seed: str) -> tuple[bytes, ...]:
    """Return the chunks of the delivery `name`; joined, they are the delivered body.

    The same arguments always produce the same chunks.
    """
    if find_transport(name) == "websocket":
        return websocket.deliver(stream, name)
    body = mangle(stream.body, stream.case.api, name)
    if name == "bytewise":
        return tuple(map(BYTES.__getitem__, body))
    cuts = stream.cuts.get((name, seed))
    return cut(body, find_cuts(stream, name, seed, body)) if cuts is None else _slice(body, cuts)


def identify(stream: Stream, name: str, seed: str) -> object:
    """Return a value that two deliveries have in common only if they have the same chunks."""
    if name == "bytewise" or find_transport(name) == "websocket":
        return name
    edits = MANGLERS[name](stream.body, stream.case.api) if name in MANGLERS else iter(())
    if next(edits, None) is not None:
        return name
    size = len(stream.body)
    cuts = stream.cuts[name, seed] = _sort_cuts(find_cuts(stream, name, seed, stream.body), size)
    return cuts if len(cuts) < size - 1 else "bytewise"  # a cut at every byte


def find_cuts(stream: Stream, name: str, seed: str, body: bytes) -> Iterable[int]:
    """Return the offsets before which the delivery `name` cuts `body`, the bytes that it delivers."""
    match name:
        case "as-is" if stream.case.cassette.marks:
            return (mark.offset for mark in stream.case.cassette.marks)
        case "whole":
            return ()
        case "bytewise":
            return range(len(body))
        case "utf8-split":
            return _find_character_cuts(body)
        case "random":
            return _draw_cuts(len(body), seed)
        case "windows":
            return _find_windows(body, seed)
        case "crlf":
            # Cut between CR and LF: a parser that ends a line at CR must not read the LF in the next chunk as
            # a blank line, which would end the event early.
            return (match.start() + 1 for match in re.finditer(rb"\r\n", body))
        # Also used for `as-is` without marks, because a server usually writes one frame at a time.
        case _:
            return (frame.start for frame in split(stream.framing, body))


def cut(body: bytes, offsets: Iterable[int]) -> tuple[bytes, ...]:
    """Split `body` before each of `offsets`; no chunk is empty."""
    return _slice(body, _sort_cuts(offsets, len(body)))


def _slice(body: bytes, cuts: tuple[int, ...]) -> tuple[bytes, ...]:
    return tuple([body[start:end] for start, end in pairwise((0, *cuts, len(body))) if start < end])


def _sort_cuts(offsets: Iterable[int], size: int) -> tuple[int, ...]:
    """Return those of `offsets` that are inside a body of `size` bytes, each once and in order."""
    ordered = sorted(set(offsets))
    return tuple(ordered[bisect_right(ordered, 0) : bisect_left(ordered, size)])


def _find_character_cuts(body: bytes) -> Iterable[int]:
    for match in MULTIBYTE.finditer(body):
        yield from range(match.start() + 1, match.end())


def _find_windows(body: bytes, seed: str) -> Iterable[int]:
    """Return the cuts in windows at the start, the end, a random place, and one place of each kind."""
    chosen = crc32(seed.encode("utf-8", "surrogateescape")) % (len(body) + 1)
    middles = [WINDOW // 2, chosen, len(body) - WINDOW // 2]
    for place in PLACES:
        # After the random place, so that many recordings together are cut at all places.
        match = place.search(body, chosen) or place.search(body)
        if match is not None:
            middles.append(match.start() + 1)
    windows = (range(middle - WINDOW // 2, middle + WINDOW // 2) for middle in middles)
    return frozenset(chain.from_iterable(windows))


def _draw_cuts(size: int, seed: str) -> Iterable[int]:
    generator = random.Random(seed)  # noqa: S311 - a repeatable choice of cuts, not a secret
    sizes = [length for length in CHUNK_SIZES if length < size] or [1]  # so that a short body is cut too
    cuts = [0]
    while cuts[-1] < size:
        cuts.append(cuts[-1] + generator.choice(sizes))
    return cuts
