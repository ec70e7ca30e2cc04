"""Select cases and trials by id patterns, APIs, levels and shards.

An id consists of components separated by `/`, `@`, `:` and `.`. In a pattern, `*` matches one component or
part of one, and `**` matches any number of components. A pattern without `*` or `/` matches any id that
contains it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from streamconform.errors import SelectionError
from streamconform.model.case import LEVELS, Level
from streamconform.model.trial import DELIVERIES, FAULTS, AnyTrial, update_id
from streamconform.suggestions import MAX_SUGGESTIONS, find_similar, suggest


class PatternParts(NamedTuple):
    """A pattern, split like an id (`case@delivery:check`); a part that is not restricted is None."""

    case: re.Pattern[str]
    delivery: re.Pattern[str] | None
    check: re.Pattern[str] | None

    def matches_delivery(self, name: str | None) -> bool:
        """Return whether the pattern matches trials of this delivery; None is the delivery of a call."""
        return self.delivery is None or (name is not None and self.delivery.match(name) is not None)


@cache
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for `pattern`, which matches complete ids."""
    parts = re.split(r"(\*\*|\*)", pattern)
    wildcards = {"**": ".*", "*": r"[^/@:.]*"}
    return re.compile("".join(wildcards.get(part, re.escape(part)) for part in parts) + r"\Z", re.DOTALL)


# Cached, because known-failures entries are split again for every result.
@cache
def split_pattern(pattern: str) -> PatternParts:
    """Return the parts of a glob. Without `@`, it matches all trials of a case; without `:`, no check."""
    pattern = update_id(pattern)
    # Ids have at most one `@` and one `:`, so a pattern with more of either could match nothing.
    subject, colon, check = pattern.partition(":")
    case, at, delivery = subject.partition("@")
    return PatternParts(
        compile_glob(case), compile_glob(delivery) if at else None, compile_glob(check) if colon else None
    )


def matches(pattern: str, trial_id: str) -> bool:
    """Return whether `pattern` matches the trial; a glob without `@` is compared only with the case id."""
    pattern = update_id(pattern)
    if "*" not in pattern and "/" not in pattern:
        return pattern in trial_id
    subject = trial_id if "@" in pattern else trial_id.partition("@")[0]
    return compile_glob(pattern).match(subject) is not None


def select_apis(ids: Sequence[str], apis: Collection[str]) -> tuple[str, ...]:
    """Return the case ids in `apis` (all if empty). Raises `SelectionError` for an API without cases."""
    present = dict.fromkeys(id_.partition("/")[0] for id_ in ids)
    for api in apis:
        if api not in present:
            raise SelectionError(f"no cases for the API `{api}`; available: {_format_names(sorted(present))}")
    return tuple(id_ for id_ in ids if not apis or id_.partition("/")[0] in apis)


def select_ids(ids: Sequence[str], patterns: Sequence[str], deliveries: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of the cases that may have a trial matching one of `patterns`.

    `deliveries` contains the trials' possible deliveries and faults; faults have no frame number. For a
    pattern that matches nothing, raises a `SelectionError` that suggests the closest case ids.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        matching = {id_ for id_ in ids if _may_match(pattern, id_, deliveries)}
        if not matching:
            raise SelectionError(f"`-k {pattern}` matches no trial{suggest_cases(pattern, ids)}")
        chosen |= matching
    return tuple(id_ for id_ in ids if not patterns or id_ in chosen)


def may_match_file(pattern: str, prefix: str) -> bool:
    """Return whether `pattern` may match a case in a spec file whose ids start with `prefix` and a slash."""
    pattern = update_id(pattern)
    if "*" not in pattern and "/" not in pattern:
        return True
    literal = pattern.partition("*")[0]
    # The text before the first `*` may extend beyond the prefix, or end inside it.
    return literal.startswith(f"{prefix}/") or f"{prefix}/".startswith(literal)


def _may_match(pattern: str, case_id: str, deliveries: Sequence[str]) -> bool:
    pattern = update_id(pattern)
    subject, at, _ = pattern.partition("@")
    if "*" in pattern or "/" in pattern:
        return compile_glob(subject).match(case_id) is not None
    if at:
        # `calls@whole` occurs in `…/parallel-calls@whole`: the part before `@` is the end of the case id.
        return case_id.endswith(subject)
    return pattern in case_id or any(_may_be_in_name(pattern, name) for name in deliveries)


def _may_be_in_name(word: str, name: str) -> bool:
    """Return whether `word` occurs in a delivery's name, or could occur in a fault's name with its number."""
    stem, dot, number = word.partition(".")
    if name not in FAULTS:
        return word in name
    if not dot:
        # A number may be part of any fault's frame number.
        return word in name or word.isdigit()
    # The dot separates the fault's name from its frame number, so the part before it must end the name.
    return name.endswith(stem) and (not number or number.isdigit())


def select_trials(
    trials: Iterable[AnyTrial], patterns: Sequence[str], *, lenient: bool = False
) -> tuple[AnyTrial, ...]:
    """Return the trials that match any of `patterns`, or all if there are none.

    Unless `lenient` is set, raises `SelectionError` for a pattern that matches no trial; in a single shard of
    the suite, such a pattern is not a mistake.
    """
    if not patterns:
        return tuple(trials)
    chosen: list[AnyTrial] = []
    used: set[str] = set()
    for trial in trials:
        matching = [pattern for pattern in patterns if matches(pattern, trial.id)]
        used.update(matching)
        if matching:
            chosen.append(trial)
    for pattern in patterns:
        if pattern not in used and not lenient:
            delivery = pattern.partition("@")[2].partition(":")[0].partition(".")[0]
            is_unknown = delivery and "*" not in delivery and delivery not in (*DELIVERIES, *FAULTS)
            hint = suggest(delivery, (*DELIVERIES, *FAULTS)) if is_unknown else ""
            raise SelectionError(
                f"`-k {pattern}` matches no trial in the selected deliveries and faults"
                + (
                    hint
                    or "; `--deliver full --faults all` selects all of them,"
                    " and `--input http` adds broken connections"
                )
            )
    return tuple(chosen)


@cache
def is_at_least(level: Level, minimum: Level) -> bool:
    """Return whether `level` is at least as strict as `minimum`."""
    return LEVELS.index(level) <= LEVELS.index(minimum)


class Shard(NamedTuple):
    """Shard `number` (counted from 1) of `total` shards."""

    number: int
    total: int

    def includes(self, case_id: str) -> bool:
        """Return whether a case is in this shard."""
        # The case's id decides, not the trial's, so that all trials of a case stay together.
        # Not `hash`, which differs between processes.
        digest = hashlib.sha256(case_id.encode()).digest()
        return int.from_bytes(digest[:8]) % self.total == self.number - 1


def parse_shard(text: str) -> Shard:
    """Return the shard `K/N`. Raises `SelectionError` if `text` has a different form."""
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise SelectionError(f"`--shard {text}`: expected K/N with K from 1 to N, such as `2/5`")
    return Shard(int(match[1]), int(match[2]))


def find_id(name: str, ids: Sequence[str]) -> str:
    """Return the case id for `name`: a full id or a unique ending of one; any `@DELIVERY` is ignored.

    Raises `SelectionError` if no case, or more than one, matches.
    """
    ending = name.partition("@")[0]
    candidates = [id_ for id_ in ids if id_ == ending or id_.endswith(f"/{ending}")]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise SelectionError(f"`{name}` is ambiguous: {_format_names(candidates)}")
    similar = _find_similar_ids(ending, ids)
    hint = f"; did you mean {_format_names(similar)}?" if similar else "; `conform list` shows the ids"
    raise SelectionError(f"no case `{name}`{hint}")


def suggest_cases(pattern: str, ids: Sequence[str]) -> str:
    """Return the end of a message: the case ids closest to `pattern`, or a hint on how to list all ids."""
    similar = _find_similar_ids(pattern.partition("@")[0].replace("*", "").strip("/"), ids)
    return f"; closest cases: {_format_names(similar)}" if similar else "; `conform list` shows the ids"


def _find_similar_ids(name: str, ids: Sequence[str]) -> list[str]:
    """Return up to three case ids whose last components (as many as `name` has) are most like `name`."""
    count = name.count("/") + 1
    endings: dict[str, list[str]] = {}
    for id_ in ids:
        endings.setdefault("/".join(id_.split("/")[-count:]), []).append(id_)
    similar = find_similar(name, endings)
    return [id_ for ending in similar for id_ in endings[ending]][:MAX_SUGGESTIONS]


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
