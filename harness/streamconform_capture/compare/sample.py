"""Choose a sample of recordings, at random or with as many different shapes as possible. Pure.

The choice depends on the recordings alone, not on the inputs' order or how they are divided.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from streamconform.model.case import Case
from streamconform.suite.shapes import read_shapes

By = Literal["random", "shape"]


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """The number of recordings to choose, and the method."""

    count: int
    by: By
    seed: int
    apis: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Sample:
    """The recordings chosen in each group, as sorted pairs of a random number and a name."""

    groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the recordings."""
        return frozenset(name for _, members in self.groups for _, name in members)


def take_sample(request: SampleRequest, cases: Iterable[Case]) -> Sample:
    """Return the sample of `cases`."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for case in cases:
        if request.apis and case.api not in request.apis:
            continue
        members = groups.setdefault(_name_group(request, case), [])
        members.append((_digest(f"{request.seed}:{case.id}"), case.id))
        # At twice the size, so that memory is bounded, but a group is not sorted for every recording.
        if len(members) > 2 * request.count:
            members.sort()
            del members[request.count :]
    return merge_samples(
        request, [Sample(tuple((group, tuple(members)) for group, members in groups.items()))]
    )


def merge_samples(request: SampleRequest, samples: Iterable[Sample]) -> Sample:
    """Return the sample of all recordings, computed from the partitions' samples.

    The groups take turns: one recording from each group, then a second from each, until there are enough.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for sample in samples:
        for group, members in sample.groups:
            groups.setdefault(group, []).extend(members)
    ranked = sorted(
        (turn, order, group, name)
        for group, members in groups.items()
        for turn, (order, name) in enumerate(sorted(members))
    )
    chosen: dict[str, list[tuple[str, str]]] = {}
    for _, order, group, name in ranked[: request.count]:
        chosen.setdefault(group, []).append((order, name))
    return Sample(tuple((group, tuple(members)) for group, members in sorted(chosen.items())))


def _name_group(request: SampleRequest, case: Case) -> str:
    if request.by == "random":
        return ""
    shapes = sorted(map(str, read_shapes(case.cassette)))
    return _digest("\n".join([case.api, str(case.cassette.status), *shapes]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
