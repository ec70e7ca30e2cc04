"""Which cases and trials: patterns over ids, apis, levels, shards.

An id is made of components, divided by `/`, `@`, `:` and `.`. In a pattern `*` stands for one component
or a part of one, `**` for any number of them. A pattern without `*` or `/` is a word to be found in the id.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from streamconform.errors import SelectionError
from streamconform.model.case import LEVELS, Level
from streamconform.model.trial import FAULTS, AnyTrial


class PatternParts(NamedTuple):
    """A pattern divided like an id, `case@delivery:check`; None where it says nothing about that part."""

    case: re.Pattern[str]
    delivery: re.Pattern[str] | None
    check: re.Pattern[str] | None

    def delivers(self, name: str | None) -> bool:
        """Return whether the pattern is about trials of this delivery; None: of a call, which has none."""
        return self.delivery is None or (name is not None and self.delivery.match(name) is not None)


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the expression that matches the whole ids that `pattern` means."""
    split_pattern = re.split(r"(\*\*|\*)", pattern)
    words = {"**": ".*", "*": r"[^/@:.]*"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in split_pattern) + r"\Z", re.DOTALL)


@cache
def split_pattern(pattern: str) -> PatternParts:
    """Return the parts of a glob; one without `@` is about every trial, one without `:` about no check.

    A pattern has at most one `@` and one `:`, as ids have, so that nothing else could match it.
    """
    subject, colon, check = pattern.partition(":")
    case, at, delivery = subject.partition("@")
    return PatternParts(
        compile_glob(case), compile_glob(delivery) if at else None, compile_glob(check) if colon else None
    )


def matches(pattern: str, trial_id: str) -> bool:
    """Return whether `pattern` means the trial; without `@` it is about the case in it."""
    if "*" not in pattern and "/" not in pattern:
        return pattern in trial_id
    subject = trial_id if "@" in pattern else trial_id.partition("@")[0]
    return compile_glob(pattern).match(subject) is not None


def select_apis(ids: Sequence[str], apis: Collection[str]) -> tuple[str, ...]:
    """Return the case ids of `apis`, all if none is named; raises `SelectionError` for one without cases."""
    present = dict.fromkeys(id_.partition("/")[0] for id_ in ids)
    for api in apis:
        if api not in present:
            raise SelectionError(
                f"no case for the API `{api}`; there are cases for {_format_names(sorted(present))}"
            )
    return tuple(id_ for id_ in ids if not apis or id_.partition("/")[0] in apis)


def select_ids(ids: Sequence[str], patterns: Sequence[str], deliveries: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of the cases that may have a trial which matches one of `patterns`.

    `deliveries` are the names that trials may have; of faults, without the number of the frame.
    Raises `SelectionError` for a pattern that matches none, with the closest case ids.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        hits = {id_ for id_ in ids if _may_match(pattern, id_, deliveries)}
        if not hits:
            raise SelectionError(f"`-k {pattern}` matches no trial{suggest_cases(pattern, ids)}")
        chosen |= hits
    return tuple(id_ for id_ in ids if not patterns or id_ in chosen)


def _may_match(pattern: str, case_id: str, deliveries: Sequence[str]) -> bool:
    subject, at, _ = pattern.partition("@")
    if "*" in pattern or "/" in pattern:
        return compile_glob(subject).match(case_id) is not None
    if at:
        return case_id.endswith(subject)
    return pattern in case_id or any(_may_be_in_name(pattern, name) for name in deliveries)


def _may_be_in_name(word: str, name: str) -> bool:
    """Return whether `word` may be found in a delivery's name, or in a fault's with some frame's number."""
    stem, dot, number = word.partition(".")
    if name not in FAULTS:
        return word in name
    if not dot:
        return word in name or word.isdigit()
    return name.endswith(stem) and (not number or number.isdigit())


def select_trials(
    trials: Iterable[AnyTrial], patterns: Sequence[str], *, lenient: bool = False
) -> tuple[AnyTrial, ...]:
    """Return the trials that any of `patterns` means (all where there is none).

    Raises `SelectionError` for a pattern that means none, unless `lenient`: of a part of the suite.
    """
    chosen: list[AnyTrial] = []
    hit: set[str] = set()
    for trial in trials:
        meant = [each for each in patterns if matches(each, trial.id)]
        hit.update(meant)
        if meant or not patterns:
            chosen.append(trial)
    for pattern in patterns:
        if pattern not in hit and not lenient:
            raise SelectionError(
                f"`-k {pattern}` matches no trial of the deliveries and faults that were asked for;"
                " `--deliver full --faults all` asks for all of them, `--input http` for round trips"
            )
    return tuple(chosen)


def at_least(level: Level, asked: Level) -> bool:
    """Return whether `level` is as strict as `asked`, or stricter."""
    return LEVELS.index(level) <= LEVELS.index(asked)


class Shard(NamedTuple):
    """One part of a suite that is divided into `parts`, from 1."""

    number: int
    split_pattern: int

    def holds(self, case_id: str) -> bool:
        """Return whether a case is in this part: its id decides, so its trials stay together."""
        digest = hashlib.sha256(case_id.encode()).digest()
        return int.from_bytes(digest[:8]) % self.parts == self.number - 1


def parse_shard(text: str) -> Shard:
    """Return the shard that `K/N` names; raises `SelectionError`."""
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise SelectionError(f"`--shard {text}`: expected K/N with K from 1 to N, such as `2/5`")
    return Shard(int(found[1]), int(found[2]))


def find_id(name: str, ids: Sequence[str]) -> str:
    """Return the id of the case `name`: an id, or the end of one if that is unique. `@DELIVERY` is ignored.

    Raises `SelectionError` if there is no such case, or several.
    """
    wanted = name.partition("@")[0]
    hits = [id_ for id_ in ids if id_ == wanted or id_.endswith(f"/{wanted}")]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise SelectionError(f"`{name}` is ambiguous: {_format_names(hits)}")
    near = _find_similar_ids(wanted, ids)
    raise SelectionError(
        f"no case `{name}`" + (f"; did you mean {_format_names(near)}?" if near else "; see `conform list`")
    )


def suggest_cases(pattern: str, ids: Sequence[str]) -> str:
    """Return a hint with the case ids that are most like `pattern`, or with the way to list them."""
    near = _find_similar_ids(pattern.partition("@")[0].replace("*", "").strip("/"), ids)
    return f"; the closest cases are {_format_names(near)}" if near else "; `conform list` shows the ids"


def _find_similar_ids(wanted: str, ids: Sequence[str]) -> list[str]:
    """Return up to three case ids whose end, of as many components as `wanted` has, is most like it."""
    count = wanted.count("/") + 1
    ends: dict[str, list[str]] = {}
    for id_ in ids:
        ends.setdefault("/".join(id_.split("/")[-count:]), []).append(id_)
    close = difflib.get_close_matches(wanted, ends, n=3, cutoff=0.5)
    return [id_ for end in close for id_ in ends[end]][:3]


def _format_names(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words) or "none"
