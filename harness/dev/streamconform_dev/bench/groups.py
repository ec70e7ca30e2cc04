"""Find where the reference spends its time, with a profile that is summed up by the purpose of modules."""

from __future__ import annotations

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "framing": ("framing/",),
    "JSON": ("json_text/",),
    "dispatch": ("decoder.py", "decode.py"),
    "fields of the api": ("apis/",),
    "accumulate": ("assemble.py", "blocks.py", "fragments.py"),
    "usage, cost and end": ("metering.py", "pricing.py", "ending.py"),
    "events": ("events.py", "<string>"),
    "outcome": ("outcome.py",),
}
"""Modules or folders by purpose; the first match counts. The generated constructors of dataclasses have no
file; nearly all of them are those of events.
"""

REST: Final = "the bench itself"

Place = tuple[str, int, str]


def shares(work: Callable[[], object]) -> dict[str, float]:
    """Return each group's share of the time of `work`, in the order of the table.

    C code counts towards the module that calls it. Profiling makes calls more expensive, so the shares are
    only a hint.
    """
    profile = cProfile.Profile()
    profile.runcall(work)
    spent: defaultdict[str, float] = defaultdict(float)
    entries: Mapping[Place, tuple[int, int, float, float, Mapping[Place, tuple[int, int, float, float]]]]
    entries = pstats.Stats(profile).stats  # type: ignore[attr-defined] # as documented, but not typed
    for place, (_, _, own, _, callers) in entries.items():
        if place[0] == "~" and callers:
            for caller, (_, _, inside, _) in callers.items():
                spent[_group(caller)] += inside
        else:
            spent[_group(place)] += own
    whole = sum(spent.values())
    return {name: spent[name] / whole for name in (*GROUPS, REST)}


def _group(place: Place) -> str:
    path = PurePath(place[0])
    if place[0] != "<string>" and "streamconform_reference" not in path.parts:
        return REST
    folders = {f"{each}/" for each in path.parts}
    return next((name for name, known in GROUPS.items() if {path.name, *folders} & {*known}), REST)
