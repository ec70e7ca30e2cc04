"""Which trials: patterns over ids.

An id is made of components, divided by `/`, `@`, `:` and `.`. In a pattern `*` stands for one component
or a part of one, `**` for any number of them. A pattern without `*` or `/` is a word to be found in the id.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from streamconform.errors import SelectionError
from streamconform.model.case import Case
from streamconform.model.trial import Trial


def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression that matches the whole ids that `pattern` means."""
    parts = re.split(r"(\*\*|\*)", pattern)
    words = {"**": ".*", "*": r"[^/@:.]*"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts) + r"\Z", re.DOTALL)


def matches(pattern: str, trial_id: str) -> bool:
    """Return whether `pattern` means the trial; without `@` it is about the case in it."""
    if "*" not in pattern and "/" not in pattern:
        return pattern in trial_id
    subject = trial_id if "@" in pattern else trial_id.partition("@")[0]
    return glob(pattern).match(subject) is not None


def select_cases(cases: Sequence[Case], apis: Iterable[str]) -> tuple[Case, ...]:
    """Return the cases of `apis`, all where none is named; raises `SelectionError` for one without any."""
    wanted = tuple(apis)
    present = {case.api for case in cases}
    for api in wanted:
        if api not in present:
            raise SelectionError(
                f"no case for the api `{api}`; there are cases for {_listed(sorted(present))}"
            )
    return tuple(case for case in cases if not wanted or case.api in wanted)


def cases_meant(
    cases: Sequence[Case], patterns: Sequence[str], deliveries: Sequence[str]
) -> tuple[Case, ...]:
    """Return the cases that have a trial which `patterns` mean, without making the trials.

    Raises `SelectionError` for a pattern that means none, with the closest case ids.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        hits = {
            case.id for case in cases if any(matches(pattern, f"{case.id}@{name}") for name in deliveries)
        }
        if not hits:
            raise SelectionError(f"`-k {pattern}` matches no trial{closest(pattern, cases)}")
        chosen |= hits
    return tuple(case for case in cases if not patterns or case.id in chosen)


def select_trials(trials: Iterable[Trial], patterns: Sequence[str]) -> tuple[Trial, ...]:
    """Return the trials that any of `patterns` means (all where there is none).

    Raises `SelectionError` where none is left.
    """
    chosen = tuple(
        trial for trial in trials if not patterns or any(matches(each, trial.id) for each in patterns)
    )
    if not chosen:
        raise SelectionError(
            "the deliveries that were asked for do not apply to the cases that were selected"
        )
    return chosen


def find_case(name: str, cases: Sequence[Case]) -> Case:
    """Return the case `name`: its id, or the end of it where that is unique. A delivery behind is ignored."""
    wanted = name.partition("@")[0]
    hits = [case for case in cases if case.id == wanted or case.id.endswith(f"/{wanted}")]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise SelectionError(f"`{name}` is ambiguous: {_listed([case.id for case in hits])}")
    near = _near(wanted, cases)
    raise SelectionError(
        f"no case `{name}`" + (f"; did you mean {_listed(near)}?" if near else "; see `conform list`")
    )


def closest(pattern: str, cases: Sequence[Case]) -> str:
    """Return a hint with the case ids that are most like `pattern`, or with the way to list them."""
    near = _near(pattern.partition("@")[0].replace("*", "").strip("/"), cases)
    return f"; the closest cases are {_listed(near)}" if near else "; `conform list` shows the ids"


def _near(wanted: str, cases: Sequence[Case]) -> list[str]:
    """Return up to three case ids whose end, of as many components as `wanted` has, is most like it."""
    count = wanted.count("/") + 1
    ends: dict[str, list[str]] = {}
    for case in cases:
        ends.setdefault("/".join(case.id.split("/")[-count:]), []).append(case.id)
    close = difflib.get_close_matches(wanted, ends, n=3, cutoff=0.5)
    return [id_ for end in close for id_ in ends[end]][:3]


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words) or "none"
