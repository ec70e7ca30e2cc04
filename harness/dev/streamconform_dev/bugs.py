"""The distinct bugs of a client: what its scores, its known failures and the findings say together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from streamconform.causes.harms import SERIOUS, count_harms, format_bugs
from streamconform.causes.ids import can_be_headed, find_harm
from streamconform.causes.table import HARMS, Harm
from streamconform.known_failures.model import Entry, KnownCause
from streamconform.model.trial import AS_IS
from streamconform.plural import format_count
from streamconform.reports.scores.document import Failure, Scores
from streamconform.suite.select import split_pattern
from streamconform_peers.findings import UNSEEN, Finding

Shown = Mapping[str, tuple[str, ...]]
"""Maps a case to the deliveries and faults in which it fails; a function call has none."""
Grade = Literal["bad", "some", "minor", "none"]
GRADES: Final[tuple[Grade, ...]] = get_args(Grade)
"""How bad the bugs of a client are, the worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBug:
    """One behavior of a client that fails its trials: a finding, or a cause that no finding explains."""

    title: str
    finding: str | None
    """The finding's slug."""
    harms: tuple[Harm, ...]
    """What it does to a user, the worst first; empty if the library is not at fault."""
    unseen: bool
    """Whether no provider was seen to send what shows it."""
    cases: Shown

    @property
    def harm(self) -> Harm | None:
        """Return the worst harm."""
        return self.harms[0] if self.harms else None

    def list_cases(self, api: str) -> list[str]:
        """Return the cases of an API that show it."""
        return [case for case in self.cases if case.startswith(f"{api}/")]


def list_bugs(
    scores: Scores, entries: Mapping[str, Sequence[Entry]], findings: Mapping[str, Finding]
) -> tuple[ClientBug, ...]:
    """Return the bugs of a client, the worst first; `entries` are its known failures by finding."""
    harms: dict[str, set[Harm | None]] = {}
    cases: dict[str, dict[str, tuple[str, ...]]] = {}
    unexplained: list[ClientBug] = []
    for api, own in scores.apis.items():
        for failure in own.failures:
            explained = explain_failure(api, failure, entries)
            if not explained:
                shown = failure.list_cases(api)
                unexplained.append(
                    ClientBug(
                        title=failure.title,
                        finding=None,
                        harms=_sort_harms({failure.harm}),
                        unseen=False,
                        cases=shown,
                    )
                )
            for slug, shown in explained.items():
                _add_cases(cases.setdefault(slug, {}), shown)
                if _is_own(api, failure, entries[slug], shown):
                    harms.setdefault(slug, set()).add(failure.harm)
    bugs = [
        ClientBug(
            title=findings[slug].title,
            finding=slug,
            harms=_sort_harms(harms[slug]),
            unseen=findings[slug].sender in UNSEEN,
            cases=dict(sorted(cases[slug].items())),
        )
        for slug in harms
    ]
    return tuple(sorted((*bugs, *unexplained), key=lambda bug: (bug.unseen, rank_harm(bug.harm), bug.title)))


def explain_failure(
    api: str, failure: Failure, entries: Mapping[str, Sequence[Entry]]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the findings behind a failure, each with the cases and the deliveries that show it.

    A pattern says more about a trial than its cause does, so the finding of the cause has the other trials.
    """
    cases = failure.list_cases(api)
    explained: dict[str, dict[str, tuple[str, ...]]] = {}
    for slug, pattern in _list_patterns(entries):
        parts = split_pattern(pattern)
        for case, names in cases.items():
            matching = tuple(filter(parts.matches_delivery, names))
            if parts.case.match(case) and (matching or (not names and parts.matches_delivery(None))):
                _add_cases(explained.setdefault(slug, {}), {case: matching})
    for slug, of_finding in entries.items():
        if any(isinstance(entry, KnownCause) and _names(entry, api, failure) for entry in of_finding):
            rest = _subtract(cases, [shown for other, shown in explained.items() if other != slug])
            explained.setdefault(slug, {})
            _add_cases(explained[slug], rest)
    return {slug: explained[slug] for slug in sorted(explained) if explained[slug]}


def describe_bugs(bugs: Iterable[ClientBug], most: int = len(HARMS)) -> str:
    """Return `2 bugs: loses or changes content (2)`; those on streams that no provider sends are apart."""
    members = list(bugs)
    counts = count_harms(bug.harm for bug in members if not bug.unseen)
    unseen = sum(bug.unseen for bug in members)
    if unseen and not counts:
        return f"{format_count(unseen, 'bug')}, only on streams that no provider was seen to send"
    seen = format_bugs(counts, most)
    return f"{seen}; {unseen} more on streams that no provider was seen to send" if unseen else seen


def grade_bugs(bugs: Iterable[ClientBug]) -> Grade:
    """Return the grade of a client with these bugs: `bad` with a serious one that a provider provokes."""
    members = list(bugs)
    if any(bug.harm in SERIOUS and not bug.unseen for bug in members):
        return "bad"
    if any(bug.harm in SERIOUS or not bug.unseen for bug in members):
        return "some"
    return "minor" if members else "none"


def find_harms(bugs: Iterable[ClientBug]) -> dict[str, Harm]:
    """Return the worst harm of each finding among the bugs of several clients."""
    harms: dict[str, Harm] = {}
    for bug in bugs:
        if bug.finding is not None and bug.harm is not None:
            harms[bug.finding] = min(bug.harm, harms.get(bug.finding, HARMS[-1]), key=HARMS.index)
    return harms


def rank_harm(harm: Harm | None) -> int:
    """Return the position of a harm, the worst first; a bug without one comes last."""
    return len(HARMS) if harm is None else HARMS.index(harm)


def _sort_harms(harms: Iterable[Harm | None]) -> tuple[Harm, ...]:
    return tuple(sorted((harm for harm in harms if harm is not None), key=HARMS.index))


def _names(entry: KnownCause, api: str, failure: Failure) -> bool:
    return (
        entry.api == api
        and find_harm(entry.cause) == failure.harm
        and can_be_headed(entry.cause, failure.title)
    )


def _is_own(api: str, failure: Failure, entries: Sequence[Entry], shown: Shown) -> bool:
    """Return whether a failure says what a finding does: its cause is listed, or only patterns list it.

    A broken stream of a case often fails for another reason, so patterns speak of the unbroken one if that
    fails.
    """
    causes = [entry for entry in entries if isinstance(entry, KnownCause)]
    if any(_names(entry, api, failure) for entry in causes):
        return True
    return not causes and any(not names or AS_IS in names for names in shown.values())


def _list_patterns(entries: Mapping[str, Sequence[Entry]]) -> Iterator[tuple[str, str]]:
    for slug, of_finding in entries.items():
        yield from ((slug, entry.match) for entry in of_finding if not isinstance(entry, KnownCause))


def _add_cases(cases: dict[str, tuple[str, ...]], more: Shown) -> None:
    for case, names in more.items():
        cases[case] = tuple(dict.fromkeys((*cases.get(case, ()), *names)))


def _subtract(cases: Shown, others: Sequence[Shown]) -> dict[str, tuple[str, ...]]:
    """Return the trials that are in none of `others`."""
    rest: dict[str, tuple[str, ...]] = {}
    for case, names in cases.items():
        taken = [other[case] for other in others if case in other]
        left = tuple(name for name in names if not any(name in other for other in taken))
        if left or not (names or taken):
            rest[case] = left
    return rest
