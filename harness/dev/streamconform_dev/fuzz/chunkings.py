"""Ways to cut a body into chunks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise


def whole(body: bytes) -> list[bytes]:
    """Do not cut."""
    return [body]


def bytewise(body: bytes) -> list[bytes]:
    """Cut after every byte."""
    return pieces(body, 1)


def pieces(body: bytes, size: int) -> list[bytes]:
    """Cut after every `size` bytes."""
    return [body[i : i + size] for i in range(0, len(body), size)]


def two_way_cuts(body: bytes) -> Iterator[list[bytes]]:
    """Cut once, at each place."""
    return ([body[:i], body[i:]] for i in range(1, len(body)))


def some_two_way_cuts(body: bytes, count: int) -> Iterator[list[bytes]]:
    """Cut once at `count` places that are the same each time."""
    rng = random.Random(len(body))  # noqa: S311 - cuts, not secrets
    return ([body[:i], body[i:]] for i in rng.sample(range(1, len(body)), count))


def at_random(body: bytes, seed: int) -> list[bytes]:
    """Cut into pieces of random sizes, the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - cuts, not secrets
    chunks = []
    while body:
        size = rng.choice((1, 2, 3, 5, 17, 64, 200, 1000))
        chunks.append(body[:size])
        body = body[size:]
    return chunks


def at(body: bytes, cuts: list[int]) -> list[bytes]:
    """Cut at these offsets; offsets beyond the end are ignored."""
    bounds = [0, *sorted({min(cut, len(body)) for cut in cuts}), len(body)]
    return [body[a:b] for a, b in pairwise(bounds)]
