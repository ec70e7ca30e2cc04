"""Generate docs/matrix/README.md from the scores in docs/matrix/results."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamconform.apis import APIS
from streamconform.causes.table import HARMS
from streamconform.reports.matrix.score import FRAMING, TRUNCATION, Score, add_scores
from streamconform.reports.scores.document import CASES, Failure, Scores, read_scores
from streamconform_dev.checkout import ROOT
from streamconform_peers.findings import PAGE as FINDINGS
from streamconform_peers.findings import get_slug, read_findings
from streamconform_peers.table import PEERS

FOLDER = ROOT / "docs" / "matrix"
RESULTS = FOLDER / "results"
PAGE = FOLDER / "README.md"
MOST_FINDINGS = 12
SITE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Homepage"]


@dataclass(frozen=True, slots=True)
class Client:
    """A peer and its scores."""

    peer: str
    scores: Scores

    @property
    def label(self) -> str:
        """Return the library's name, and the peer's if it differs."""
        name = self.scores.implementation.name
        return f"`{name}`" if name == self.peer else f"`{name}` ({self.peer})"

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
        f"{len(clients)} clients of {len(apis)} APIs. A cell shows the percentage of cases that a client"
        " reads correctly in the `as-is` delivery, and below it the number of cases. The other two"
        " percentages are of the cases that it reads correctly. **cut**: it also reports them correctly when"
        " the stream is cut, reset or ended by an error. **framed**: it also reads them correctly when the"
        " same stream is delivered differently: in one piece, byte by byte, or with comments."
    )
    yield (
        "Known failures count as failures. A value that a library does not expose, and does not claim to"
        " expose, is not a failure: such cases are skipped, and counted under **not exposed**. Each failure"
        f" that we publish is [a finding]({FINDINGS}), reproduced with the library alone."
    )
    site = f"[the website]({SITE}matrix/index.html)"
    yield f"This page is a summary: {site} has a page for each client, case and finding."
    yield "\n".join(_table(clients, apis))
    yield "## What goes wrong"
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
    yield f"| client | release | {' | '.join(names)} | framed | cut | not exposed |"
    yield "|---|---|" + "--:|" * (len(apis) + 3)
    for client in clients:
        scores = client.scores.apis
        cells = [_format_score(scores[api].score()) if api in scores else "" for api in apis]
        total = {
            name: add_scores(api.score(name) for api in scores.values())
            for name in (CASES, FRAMING, TRUNCATION)
        }
        cells += [_format_score(total[name], counts=False) for name in (FRAMING, TRUNCATION)]
        version = client.scores.implementation.version
        yield f"| {client.label} | `{version}` | {' | '.join(cells)} | {total[CASES].skipped} |"


def _format_score(score: Score, *, counts: bool = True) -> str:
    """Return the share in percent, rounded down so that 100 % means all, and the number of cases."""
    if not score.judged:
        return ""
    share = f"{score.passed * 1000 // score.judged / 10:g} %"
    return f"{share}<br><sub>of {score.judged}</sub>" if counts else share


def _harms(clients: Sequence[Client]) -> Iterator[str]:
    yield "| harm to the user | clients | cases |"
    yield "|---|--:|--:|"
    for harm in HARMS:
        hit = {
            (client.peer, case)
            for client in clients
            for api, cause in client.list_failures()
            if cause.harm == harm
            for case in cause.list_cases(api)
        }
        if hit:
            yield f"| {harm} | {len({peer for peer, _ in hit})} | {len(hit):,} |"


def _findings(clients: Sequence[Client]) -> Iterator[str]:
    peers: dict[str, set[str]] = {}
    for client in clients:
        for _, cause in client.list_failures():
            for issue in cause.tracked:
                peers.setdefault(issue, set()).add(client.peer)
    ranked = sorted(peers.items(), key=lambda item: (-len(item[1]), item[0]))
    titles = {slug: finding.title for slug, finding in read_findings().items()}
    for issue, names in ranked[:MOST_FINDINGS]:
        title = titles.get(get_slug(issue) or "", issue)
        yield f"- [{title}]({issue}): {', '.join(f'`{name}`' for name in sorted(names))}"
