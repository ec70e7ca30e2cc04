"""The results of a partition, and the sum of several such results. Pure.

Parts are small regardless of the number of findings: for each cause they keep counts and the smallest
recordings. The sum does not depend on how the inputs were divided, nor on the order of the parts.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform.conservation import Balance
from streamconform_capture.compare.findings import ABOUT, DELIVERY_ORDER, About, Finding

MAX_UNREAD: Final = 3
"""The maximum number of unread recordings listed per reason."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of finding, and how often it occurred."""

    about: About
    who: tuple[int, ...]
    what: str
    harm: str | None
    recordings: int
    trials: int
    examples: tuple[Finding, ...]
    """One trial per recording, for the smallest recordings."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Recordings that were not compared, for one reason."""

    api: str
    reason: str
    recordings: int
    files: tuple[str, ...]
    """The first recordings, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The results of a partition, or a sum of such results."""

    listed: int = 0
    """The number of recordings of the wanted APIs that the inputs list."""
    read: Mapping[str, int] = field(default_factory=dict)
    """Recordings by api."""
    trials: int = 0
    skipped: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """The number of skipped trials, by implementation and reason."""
    attempted: Mapping[int, int] = field(default_factory=dict)
    answered: Mapping[int, int] = field(default_factory=dict)
    """The number of trials that were not skipped, and the number that got an answer, by implementation."""
    endings: Mapping[tuple[str, str, str, int], int] = field(default_factory=dict)
    """The number of recordings by API, status, stop reason and implementation."""
    unread: tuple[Unread, ...] = ()
    causes: tuple[Cause, ...] = ()
    differing: int = 0
    """The number of recordings with at least one finding."""

    @property
    def recordings(self) -> int:
        """Return the number of recordings that were compared."""
        return sum(self.read.values())

    @property
    def not_read(self) -> int:
        """Return the number of recordings that were not compared."""
        return sum(group.recordings for group in self.unread)

    @property
    def balance(self) -> Balance:
        """Return what became of the listed recordings."""
        return Balance(
            "recording", "listed", self.listed, {"read": self.recordings, "not read": self.not_read}
        )

    @property
    def examples(self) -> frozenset[str]:
        """Return the names of the recordings that are examples."""
        return frozenset(example.file for cause in self.causes for example in cause.examples)


def group_findings(findings: Iterable[Finding], examples: int) -> tuple[Cause, ...]:
    """Return the causes of `findings`, each with at most `examples` examples.

    All of a recording's findings must be passed in one call.
    """
    groups: dict[tuple[About, tuple[int, ...], str], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.about, each.who, each.what), []).append(each)
    return tuple(
        Cause(
            about,
            who,
            what,
            group[0].harm,
            len({each.file for each in group}),
            len({(each.file, each.delivery) for each in group}),
            _select_examples(group, examples),
        )
        for (about, who, what), group in groups.items()
    )


def add_unread(groups: Iterable[Unread]) -> tuple[Unread, ...]:
    """Return one group for each API and reason, sorted."""
    same: dict[tuple[str, str], list[Unread]] = {}
    for group in groups:
        same.setdefault((group.api, group.reason), []).append(group)
    return tuple(
        Unread(
            api,
            reason,
            sum(each.recordings for each in members),
            tuple(sorted(file for each in members for file in each.files)[:MAX_UNREAD]),
        )
        for (api, reason), members in sorted(same.items())
    )


def add_parts(parts: Iterable[Part], examples: int) -> Part:
    """Return the sum of `parts`, which must have no recording in common; causes are sorted."""
    read: Counter[str] = Counter()
    skipped: Counter[tuple[int, str]] = Counter()
    endings: Counter[tuple[str, str, str, int]] = Counter()
    attempted: Counter[int] = Counter()
    answered: Counter[int] = Counter()
    unread: list[Unread] = []
    causes: dict[tuple[About, tuple[int, ...], str], Cause] = {}
    listed = trials = differing = 0
    for part in parts:
        listed += part.listed
        read.update(part.read)
        skipped.update(part.skipped)
        endings.update(part.endings)
        attempted.update(part.attempted)
        answered.update(part.answered)
        trials += part.trials
        differing += part.differing
        unread += part.unread
        for cause in part.causes:
            key = (cause.about, cause.who, cause.what)
            causes[key] = _add_causes(causes[key], cause, examples) if key in causes else cause
    return Part(
        listed=listed,
        # Sorted, because parts may arrive in a different order in each run.
        read=dict(sorted(read.items())),
        trials=trials,
        skipped=dict(sorted(skipped.items())),
        endings=dict(sorted(endings.items())),
        attempted=dict(sorted(attempted.items())),
        answered=dict(sorted(answered.items())),
        unread=add_unread(unread),
        causes=tuple(sorted(causes.values(), key=_sort_key)),
        differing=differing,
    )


def to_json(part: Part) -> dict[str, Any]:
    """Return `part` as JSON."""
    document = dataclasses.asdict(part)
    for name in ("skipped", "endings"):
        document[name] = [[*key, count] for key, count in document[name].items()]
    for name in ("attempted", "answered"):
        document[name] = [[key, count] for key, count in document[name].items()]
    return document


def from_json(document: Mapping[str, Any]) -> Part:
    """Return the part whose `to_json` form is `document`. Raises `KeyError`, `TypeError` or `ValueError`."""
    causes = (
        Cause(**{**each, "who": tuple(each["who"]), "examples": tuple(map(_make_finding, each["examples"]))})
        for each in document["causes"]
    )
    return Part(
        listed=document["listed"],
        read=document["read"],
        trials=document["trials"],
        attempted=dict(document["attempted"]),
        answered=dict(document["answered"]),
        skipped={(index, reason): count for index, reason, count in document["skipped"]},
        endings={(api, status, reason, index): n for api, status, reason, index, n in document["endings"]},
        unread=tuple(Unread(**{**each, "files": tuple(each["files"])}) for each in document["unread"]),
        causes=tuple(causes),
        differing=document["differing"],
    )


def _make_finding(document: Mapping[str, Any]) -> Finding:
    return Finding(**{**document, "who": tuple(document["who"]), "words": tuple(document["words"])})


def _add_causes(one: Cause, other: Cause, examples: int) -> Cause:
    return dataclasses.replace(
        one,
        recordings=one.recordings + other.recordings,
        trials=one.trials + other.trials,
        examples=_select_examples((*one.examples, *other.examples), examples),
    )


def _select_examples(findings: Iterable[Finding], count: int) -> tuple[Finding, ...]:
    """Return the first finding in each of the `count` smallest recordings."""
    chosen: dict[str, Finding] = {}
    for each in sorted(findings, key=_rank):
        chosen.setdefault(each.file, each)
    return tuple(chosen.values())[:count]


def _rank(finding: Finding) -> tuple[int, str, int, str]:
    return finding.size, finding.file, DELIVERY_ORDER.get(finding.delivery, 0), finding.path


def _sort_key(cause: Cause) -> tuple[int, tuple[int, ...], int, str]:
    return list(ABOUT).index(cause.about), cause.who, -cause.recordings, cause.what
