"""Read the committed scores, known failures, findings and cases as values for the templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from streamconform.apis import APIS
from streamconform.causes.harms import count_harms
from streamconform.causes.table import HARMS, Harm
from streamconform.model.case import AnyCase
from streamconform.model.trial import DELIVERIES, FAULTS
from streamconform.reports.matrix.score import COLUMNS, Score
from streamconform.reports.scores.document import Scores, Warned, read_scores
from streamconform.suite.build import COMMON
from streamconform.suite.catalog import Catalog, read_catalog
from streamconform.suite.evidence import Fact, find_facts
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.bugs import (
    ClientBug,
    Grade,
    describe_bugs,
    explain_failure,
    find_harms,
    grade_bugs,
    list_bugs,
)
from streamconform_dev.docs.matrix import RESULTS
from streamconform_peers.findings import Finding, read_findings
from streamconform_peers.known import read_by_finding
from streamconform_peers.peer import Peer
from streamconform_peers.table import PEERS

MARKS: Final[Mapping[str, str]] = {
    "fail": "fails",
    "framing": "fails only when the same stream is delivered differently",
    "truncation": "fails only when the stream is cut",
    "warn": "passes with a warning",
    "pass": "passes",
    "skipped": "is not judged: it needs a capability that the client does not claim",
}
"""What each mark for a case says about a client, the worst mark first."""
FAILING: Final = frozenset({"fail", "framing", "truncation"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause of failures of a client in one API."""

    api: str
    title: str
    harm: Harm | None
    trials: int
    example: str
    cases: Mapping[str, tuple[str, ...]]
    """Maps a case id to the deliveries and faults in which the case fails."""
    findings: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Maps the slug of each finding that its known failures name to the cases that show it, and each case to
    the deliveries and faults in which it does."""


@dataclass(frozen=True)
class Client:
    """A peer with its scores."""

    peer: Peer
    scores: Scores
    failures: tuple[Cause, ...]
    bugs: tuple[ClientBug, ...]
    marks: Mapping[str, str]
    """Case id to mark."""

    @property
    def name(self) -> str:
        """Return the name after `peer:`."""
        return self.peer.name

    @cached_property
    def by_api(self) -> Mapping[str, Score]:
        """Return the score of each API."""
        return {api: own.score() for api in (*APIS, COMMON) if (own := self.scores.apis.get(api))}

    @cached_property
    def bug_counts(self) -> Mapping[Harm | None, int]:
        """Return the number of bugs with each harm, apart from those that no provider was seen to provoke."""
        return count_harms(harm for bug in self.bugs if not bug.unseen for harm in bug.harms)

    @property
    def grade(self) -> Grade:
        """Return how bad its bugs are."""
        return grade_bugs(self.bugs)

    def summarize(self, most: int = len(HARMS)) -> str:
        """Return its bugs in words; harms after the first `most` are only counted."""
        return describe_bugs(self.bugs, most)

    def list_bugs_of(self, api: str) -> list[ClientBug]:
        """Return the bugs that cases of an API show."""
        return [bug for bug in self.bugs if bug.list_cases(api)]

    def count_failing(self, api: str) -> int:
        """Return the number of cases of an API that fail in any delivery."""
        return len({case for bug in self.bugs for case in bug.list_cases(api)})

    def score_column(self, column: str, api: str) -> Score:
        """Return the score of a column of the matrix in an API."""
        own = self.scores.apis.get(api)
        return own.score(column) if own else Score()

    @cached_property
    def warnings(self) -> list[tuple[str, Warned]]:
        """Return the causes of its warnings, each with its API."""
        return [(name, cause) for name, api in self.scores.apis.items() for cause in api.warnings]

    @cached_property
    def not_exposed(self) -> list[tuple[str, int]]:
        """Return the paths that the library does not expose, with the number of cases, most first."""
        counts: dict[str, int] = {}
        for api in self.scores.apis.values():
            for path, count in api.not_exposed.items():
                counts[path] = counts.get(path, 0) + count
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@dataclass(frozen=True)
class Matrix:
    """The data for the pages of the matrix."""

    clients: tuple[Client, ...]
    findings: Mapping[str, Finding]
    affected: Mapping[str, tuple[str, ...]]
    """Maps a finding's slug to the peers whose known failures name it."""
    cases: Mapping[str, AnyCase]
    """The cases that have a page: a client fails them, or a finding names them."""
    facts: Mapping[str, tuple[Fact, ...]]
    catalog: Catalog

    @property
    def case_count(self) -> int:
        """Return the number of cases in the suite."""
        return len(self.catalog.ids)

    @cached_property
    def apis(self) -> list[str]:
        """Return the APIs that a client has scores for, in the suite's order."""
        judged = {api for client in self.clients for api in client.by_api}
        return [api for api in (*APIS, COMMON) if api in judged]

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """Return the titles of the columns that a client has scores for."""
        return {
            name: title
            for name, title in COLUMNS.items()
            if any(own.score(name).judged for client in self.clients for own in client.scores.apis.values())
        }

    @cached_property
    def harms(self) -> Mapping[str, Harm]:
        """Return the worst harm of each finding that fails a trial."""
        return find_harms(bug for client in self.clients for bug in client.bugs)

    def list_by_harm(self) -> Iterator[tuple[str | None, list[Finding]]]:
        """Yield each harm, the worst first, with its findings by title; None for findings without harm."""
        for harm in (*HARMS, None):
            members = [each for slug, each in self.findings.items() if self.harms.get(slug) == harm]
            if members:
                yield harm, sorted(members, key=lambda each: each.title)

    def find_client(self, name: str) -> Client | None:
        """Return the client of a peer, or None if it has no scores."""
        return next((client for client in self.clients if client.name == name), None)

    def group_marks(self, case: str) -> list[tuple[str, list[Client]]]:
        """Return the clients by their mark for a case, the worst mark first."""
        groups = {mark: [each for each in self.clients if each.marks.get(case) == mark] for mark in MARKS}
        return [(mark, clients) for mark, clients in groups.items() if clients]

    def list_findings_of_case(self, case: str) -> dict[str, list[str]]:
        """Return the findings that name a case, or that a failure of it names, by slug.

        Each has the deliveries, and the kinds of faults, in which the case fails because of it.
        """
        names: dict[str, set[str]] = {
            slug: set() for slug, finding in self.findings.items() if case in finding.cases
        }
        for client in self.clients:
            for cause in client.failures:
                for slug, shown in cause.findings.items():
                    if case in shown and slug in self.findings:
                        kinds = {name.partition(".")[0] for name in shown[case]}
                        names.setdefault(slug, set()).update(kinds)
        return {
            slug: [name for name in (*DELIVERIES, *FAULTS) if name in names[slug]] for slug in sorted(names)
        }


def read_matrix() -> Matrix:
    """Return the matrix. Raises `SourceError` if a finding or a spec is wrong."""
    findings = read_findings()
    catalog = read_catalog(find_sources(SelectionSettings()))
    clients = tuple(
        _read_client(peer, path, catalog.ids, findings)
        for name, peer in PEERS.items()
        if (path := RESULTS / f"{name}.json").exists()
    )
    wanted = {case for finding in findings.values() for case in finding.cases}
    wanted |= {case for client in clients for case, mark in client.marks.items() if mark in FAILING}
    cases = catalog.load(wanted.intersection(catalog.ids))
    affected: dict[str, list[str]] = {}
    for name, peer in PEERS.items():
        for slug in read_by_finding(peer.name):
            affected.setdefault(slug, []).append(name)
    return Matrix(
        clients=clients,
        findings=findings,
        affected={slug: tuple(names) for slug, names in affected.items()},
        cases={case.id: case for case in cases},
        facts=find_facts(catalog.sources.specs, cases),
        catalog=catalog,
    )


def _read_client(peer: Peer, path: Path, ids: Iterable[str], findings: Mapping[str, Finding]) -> Client:
    scores = read_scores(path.read_bytes())
    known = read_by_finding(peer.name)
    return Client(
        peer=peer,
        scores=scores,
        failures=tuple(
            Cause(
                api=api,
                title=failure.title,
                harm=failure.harm,
                trials=failure.trials,
                example=failure.example.text,
                cases=failure.list_cases(api),
                findings=explain_failure(api, failure, known),
            )
            for api, own in scores.apis.items()
            for failure in own.failures
        ),
        bugs=list_bugs(scores, known, findings),
        marks=scores.mark_cases(ids),
    )
