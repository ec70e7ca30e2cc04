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
from streamconform_capture.compare.inputs.recording import UnreadRecording, is_wanted
from streamconform_capture.compare.part import Unread, add_unread

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
    unread: tuple[Unread, ...] = ()
    """The recordings from which none could be chosen, because they were not read."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the recordings."""
        return frozenset(name for _, members in self.groups for _, name in members)

    @property
    def not_read(self) -> int:
        """Return the number of recordings that were not read."""
        return sum(group.recordings for group in self.unread)


def take_sample(request: SampleRequest, recordings: Iterable[Case | UnreadRecording]) -> Sample:
    """Return the sample of `recordings`."""
    groups: dict[str, list[tuple[str, str]]] = {}
    unread: list[Unread] = []
    for recording in recordings:
        if not is_wanted(recording, request.apis):
            continue
        if isinstance(recording, UnreadRecording):
            unread.append(Unread(recording.api, recording.reason, 1, (recording.file,)))
            continue
        members = groups.setdefault(_name_group(request, recording), [])
        members.append((_digest(f"{request.seed}:{recording.id}"), recording.id))
        # At twice the size, so that memory is bounded, but a group is not sorted for every recording.
        if len(members) > 2 * request.count:
            members.sort()
            del members[request.count :]
    chosen = tuple((group, tuple(members)) for group, members in groups.items())
    return merge_samples(request, [Sample(chosen, tuple(unread))])


def merge_samples(request: SampleRequest, samples: Iterable[Sample]) -> Sample:
    """Return the sample of all recordings, computed from the partitions' samples.

    The groups take turns: one recording from each group, then a second from each, until there are enough.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    unread: list[Unread] = []
    for sample in samples:
        unread += sample.unread
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
    sorted_groups = tuple((group, tuple(members)) for group, members in sorted(chosen.items()))
    return Sample(sorted_groups, add_unread(unread))


def _name_group(request: SampleRequest, case: Case) -> str:
    if request.by == "random":
        return ""
    shapes = sorted(map(str, read_shapes(case.cassette)))
    return _digest("\n".join([case.api, str(case.cassette.status), *shapes]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
