"""Generate docs/matrix/README.md from the scores in docs/matrix/results."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from streamconform.apis import APIS
from streamconform.causes.table import HARMS
from streamconform.reports.scores.document import Failure, Scores, read_scores
from streamconform_dev.bugs import ClientBug, describe_bugs, list_bugs
from streamconform_dev.checkout import ROOT
from streamconform_peers.findings import PAGE as FINDINGS
from streamconform_peers.findings import read_findings
from streamconform_peers.known import read_by_finding
from streamconform_peers.table import PEERS

FOLDER = ROOT / "docs" / "matrix"
RESULTS = FOLDER / "results"
PAGE = FOLDER / "README.md"
MOST_FINDINGS = 12
SITE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Homepage"]


@dataclass(frozen=True)
class Client:
    """A peer and its scores."""

    peer: str
    scores: Scores

    @property
    def label(self) -> str:
        """Return the library's name, and the peer's if it differs."""
        name = self.scores.implementation.name
        return f"`{name}`" if name == self.peer else f"`{name}` ({self.peer})"

    @cached_property
    def bugs(self) -> tuple[ClientBug, ...]:
        """Return its bugs, the worst first."""
        return list_bugs(self.scores, read_by_finding(self.peer), read_findings())

    def list_failures(self) -> list[tuple[str, Failure]]:
        """Return the causes of the failures, each with its API."""
        return [(name, cause) for name, api in self.scores.apis.items() for cause in api.failures]


def read_clients() -> list[Client]:
    """Return every peer that has scores, in the order of the table of peers."""
    paths = {name: RESULTS / f"{name}.json" for name in PEERS}
    return [Client(name, read_scores(path.read_bytes())) for name, path in paths.items() if path.exists()]


def generate() -> dict[Path, bytes]:
    """Return the page."""
    return {PAGE: ("\n\n".join(_blocks(read_clients())) + "\n").encode()}


def _blocks(clients: Sequence[Client]) -> Iterator[str]:
    apis = [api for api in APIS if any(api in client.scores.apis for client in clients)]
    yield "# Matrix: which clients read streamed answers correctly"
    yield (
        f"{len(clients)} clients of {len(apis)} APIs. A cell counts the distinct bugs that an API's cases"
        " show, and below them the cases that fail in any delivery, of those that the client is judged on."
        " The second column names the bugs by the worst that they do to a user, each counted once; **not"
        " seen** counts those that only show on streams that no provider was seen to send."
    )
    yield (
        "Known failures are bugs too. A value that a library does not expose, and does not claim to"
        " expose, is [not a failure](not-exposed.md): such cases are skipped. Each failure"
        f" that we publish is [a finding]({FINDINGS}), reproduced with the library alone."
    )
    site = f"[the website]({SITE}matrix/index.html)"
    yield f"This page is a summary: {site} has a page for each client, case and finding."
    yield "\n".join(_table(clients, apis))
    yield "## What goes wrong"
    yield "A bug counts in each line that fits, whatever the number of clients and cases that show it."
    yield "\n".join(_harms(clients))
    yield "## The findings in most clients"
    yield "\n".join(_findings(clients))
    yield "## How this page is made"
    yield (
        "`make matrix` installs every peer, runs the suite over HTTP on this machine, writes each peer's"
        " scores to [results](results), and generates this page. `make matrix PEERS=openai` does this for one"
        " peer. The command fails if there is a new failure, or if a known one is fixed."
        " Known failures, in the folder of each [library](../../harness/streamconform_peers), name the"
        " finding for each failure; [peers](../peers.md) describes how the clients are used."
    )


def _table(clients: Sequence[Client], apis: Sequence[str]) -> Iterator[str]:
    names = [f"`{api}`" for api in apis]
    yield f"| client | release | bugs | not seen | {' | '.join(names)} |"
    yield "|---|---|---|--:|" + "--:|" * len(apis)
    for client in clients:
        seen = [bug for bug in client.bugs if not bug.unseen]
        unseen = len(client.bugs) - len(seen)
        words = "none" if unseen and not seen else describe_bugs(seen)
        cells = [_describe_api(client, api) for api in apis]
        version = client.scores.implementation.version
        yield f"| {client.label} | `{version}` | {words} | {unseen or ''} | {' | '.join(cells)} |"


def _describe_api(client: Client, api: str) -> str:
    """Return the number of bugs that an API's cases show, and of cases; empty if none is judged."""
    own = client.scores.apis.get(api)
    if own is None or not own.score().judged:
        return ""
    bugs = sum(bool(bug.list_cases(api)) for bug in client.bugs)
    failing = len({case for bug in client.bugs for case in bug.list_cases(api)})
    return f"{bugs}<br><sub>{failing} of {own.score().judged}</sub>"


def _harms(clients: Sequence[Client]) -> Iterator[str]:
    yield "| harm to the user | clients | bugs | not seen |"
    yield "|---|--:|--:|--:|"
    for harm in HARMS:
        hit = [(client.peer, bug) for client in clients for bug in client.bugs if harm in bug.harms]
        seen, unseen = ({bug.title for _, bug in hit if bug.unseen == flag} for flag in (False, True))
        if hit:
            yield f"| {harm} | {len({peer for peer, _ in hit})} | {len(seen)} | {len(unseen)} |"


def _findings(clients: Sequence[Client]) -> Iterator[str]:
    peers: dict[str, set[str]] = {}
    for client in clients:
        for bug in client.bugs:
            if bug.finding is not None:
                peers.setdefault(bug.finding, set()).add(client.peer)
    titles = {slug: finding.title for slug, finding in read_findings().items()}
    for slug, names in sorted(peers.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_FINDINGS]:
        yield f"- [{titles[slug]}]({FINDINGS}#{slug}): {', '.join(f'`{name}`' for name in sorted(names))}"
