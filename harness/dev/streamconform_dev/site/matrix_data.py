"""Read the committed scores, known failures, findings and cases as values for the templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.causes.table import HARMS, Harm
from streamconform.model.case import AnyCase
from streamconform.model.trial import DELIVERIES, FAULTS
from streamconform.reports.matrix import score as matrix_score
from streamconform.reports.matrix.score import COLUMNS
from streamconform.reports.scores.document import CASES, Scores, Warned, read_scores
from streamconform.suite.build import COMMON
from streamconform.suite.catalog import Catalog, read_catalog
from streamconform.suite.evidence import Fact, find_facts
from streamconform.suite.select import PatternParts, split_pattern
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform.yaml_text.reader import read
from streamconform_dev.docs.matrix import RESULTS
from streamconform_peers.findings import Finding, get_slug, read_findings
from streamconform_peers.peer import Peer
from streamconform_peers.table import PEERS

MARKS: Final[Mapping[str, str]] = {
    "fail": "fails",
    "framing": "fails only when the same bytes arrive otherwise",
    "truncation": "fails only when the stream is cut",
    "warn": "passes with a warning",
    "pass": "passes",
    "skipped": "is not judged: it needs a capability that the client does not claim",
}
"""What each mark for a case says about a client, the worst mark first."""
FAILING: Final = frozenset({"fail", "framing", "truncation"})


@dataclass(frozen=True, slots=True)
class Score(matrix_score.Score):
    """Counts of cases, as the pages show them."""

    @property
    def share(self) -> str:
        """Return the share that passes in percent, rounded down so that 100 % means all."""
        return f"{self.passed * 1000 // self.judged / 10:g} %" if self.judged else ""

    @property
    def grade(self) -> str:
        """Return how good the share is: `all`, `most` (at least 95 %), `part` (at least 80 %) or `low`."""
        if not self.failed:
            return "all"
        share = self.passed / self.judged
        return "most" if share >= 0.95 else "part" if share >= 0.8 else "low"


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
    marks: Mapping[str, str]
    """Case id to mark."""
    history: Mapping[str, Mapping[str, Any]]
    """Maps a finding's slug to its entry in the peer's history, if there is one."""
    newest: Mapping[str, str]
    """The newest release of each of its libraries, as far as its history names them."""

    @property
    def name(self) -> str:
        """Return the name after `peer:`."""
        return self.peer.name

    @cached_property
    def by_api(self) -> Mapping[str, Score]:
        """Return the score of each API."""
        return {api: self.score_column(CASES, api) for api in (*APIS, COMMON) if api in self.scores.apis}

    @cached_property
    def total(self) -> Score:
        """Return the score of all APIs together."""
        return add_scores(self.by_api.values())

    def score_column(self, column: str, api: str | None = None) -> Score:
        """Return the score of a column of the matrix, in one API or in all."""
        apis = [own for name, own in self.scores.apis.items() if api in (None, name)]
        return add_scores(own.score(column) for own in apis)

    @cached_property
    def warnings(self) -> list[tuple[str, Warned]]:
        """Return the causes of its warnings, each with its API."""
        return [(name, cause) for name, api in self.scores.apis.items() for cause in api.warnings]

    def list_harmed(self, harm: str) -> list[str]:
        """Return the ids of the cases whose failure has this harm."""
        return sorted({case for cause in self.failures if cause.harm == harm for case in cause.cases})

    def list_findings(self) -> list[str]:
        """Return the slugs of the findings that its failures name, those with most cases first."""
        cases: dict[str, set[str]] = {}
        for cause in self.failures:
            for slug, shown in cause.findings.items():
                cases.setdefault(slug, set()).update(shown)
        return sorted(cases, key=lambda slug: (-len(cases[slug]), slug))

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
            if any(client.score_column(name).judged for client in self.clients)
        }

    @cached_property
    def harms(self) -> Mapping[str, str]:
        """Return the worst harm of the failures of each finding."""
        harms: dict[str, str] = {}
        for client in self.clients:
            for cause in client.failures:
                for slug in cause.findings:
                    if cause.harm is not None:
                        harms[slug] = min(cause.harm, harms.get(slug, HARMS[-1]), key=HARMS.index)
        return harms

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
        _read_client(peer, path, catalog.ids)
        for name, peer in PEERS.items()
        if (path := RESULTS / f"{name}.json").exists()
    )
    wanted = {case for finding in findings.values() for case in finding.cases}
    wanted |= {case for client in clients for case, mark in client.marks.items() if mark in FAILING}
    cases = catalog.load(wanted.intersection(catalog.ids))
    affected: dict[str, list[str]] = {}
    for name, peer in PEERS.items():
        for slug in dict.fromkeys(slug for _, slug in _read_known(peer)):
            affected.setdefault(slug, []).append(name)
    return Matrix(
        clients=clients,
        findings=findings,
        affected={slug: tuple(names) for slug, names in affected.items()},
        cases={case.id: case for case in cases},
        facts=find_facts(catalog.sources.specs, cases),
        catalog=catalog,
    )


def add_scores(scores: Iterable[matrix_score.Score]) -> Score:
    """Return the sum of `scores`."""
    return Score(**asdict(matrix_score.add_scores(scores)))


def _read_client(peer: Peer, path: Path, ids: Iterable[str]) -> Client:
    scores = read_scores(path.read_bytes())
    known = _read_known(peer)
    document = read(peer.history).value if peer.history.exists() else {}
    return Client(
        peer=peer,
        scores=scores,
        failures=tuple(_list_causes(scores, known)),
        marks=scores.mark_cases(ids),
        history={entry["finding"]: entry for entry in document.get("findings", ())},
        newest=document.get("newest", {}),
    )


def _read_known(peer: Peer) -> list[tuple[PatternParts | None, str]]:
    """Return the pattern and the finding of each known failure of a peer that names a finding.

    An entry for a cause has no pattern.
    """
    path = peer.known_failures
    entries = read(path).value["entries"] if path.exists() else ()
    pairs = ((entry.get("match"), get_slug(entry["issue"])) for entry in entries)
    return [(split_pattern(match) if match else None, slug) for match, slug in pairs if slug]


def _list_causes(scores: Scores, known: Sequence[tuple[PatternParts | None, str]]) -> Iterator[Cause]:
    for api, own in scores.apis.items():
        for cause in own.failures:
            cases = cause.list_cases(api)
            yield Cause(
                api=api,
                title=cause.title,
                harm=cause.harm,
                trials=cause.trials,
                example=cause.example.text,
                cases=cases,
                findings=_find_findings(cases, known, cause.tracked),
            )


def _find_findings(
    cases: Mapping[str, Sequence[str]],
    known: Sequence[tuple[PatternParts | None, str]],
    tracked: Sequence[str],
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the findings about a peer, with the trials that they are about.

    These are the findings of the known failures that match a trial, with the cases and deliveries of these
    trials, and those that a cause is tracked by, with the cases that no pattern matches.
    """
    shown: dict[str, dict[str, tuple[str, ...]]] = {}
    patterns = [(pattern, slug) for pattern, slug in known if pattern is not None]
    for pattern, slug in patterns:
        for case, names in cases.items():
            if not pattern.case.match(case):
                continue
            matching = tuple(filter(pattern.matches_delivery, names))
            if matching or (not names and pattern.matches_delivery(None)):
                of_case = shown.setdefault(slug, {})
                of_case[case] = (*of_case.get(case, ()), *matching)
    by_cause = {slug for pattern, slug in known if pattern is None}
    matched = {case for of_finding in shown.values() for case in of_finding}
    rest = {case: tuple(names) for case, names in cases.items() if case not in matched}
    for slug in filter(None, map(get_slug, tracked)):
        if slug in by_cause and rest:
            shown[slug] = {**shown.get(slug, {}), **rest}
    return {slug: shown[slug] for slug in sorted(shown)}
