"""The entries of the feed: releases of the suite from CHANGELOG.md, and new scores of clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamconform.plural import format_count
from streamconform_dev.checkout import ROOT
from streamconform_dev.site.matrix_data import Client, Matrix

RELEASE: Final = re.compile(
    r"^## \[?(?P<version>[0-9][^\] ]*)\]?(?:\([^)]*\))? - (?P<date>\d{4}-\d\d-\d\d)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry."""

    id: str
    """A path in the site with an anchor, which is the same in every build."""
    path: str
    title: str
    summary: str
    date: str


def list_entries(matrix: Matrix) -> list[Entry]:
    """Return the entries, the newest first."""
    entries = [*_list_releases(), *(_describe_client(client) for client in matrix.clients)]
    return sorted(entries, key=lambda entry: (entry.date, entry.id), reverse=True)


def _list_releases() -> Iterator[Entry]:
    page = "docs/project/changelog.html"
    for release in RELEASE.finditer((ROOT / "CHANGELOG.md").read_text("utf-8")):
        yield Entry(
            id=f"{page}#release-{release['version']}",
            path=page,
            title=f"streamconform {release['version']}",
            summary="A new release of the suite.",
            date=release["date"],
        )


def _describe_client(client: Client) -> Entry:
    version, date = client.scores.implementation.version, client.scores.date
    assert date is not None, "committed scores have the date of their run"
    page = f"matrix/clients/{client.name}.html"
    apis = [
        f"{client.count_failing(api)} of {format_count(score.judged, 'case')} of {api}"
        for api, score in client.by_api.items()
    ]
    return Entry(
        id=f"{page}#{version}-{date}",
        path=page,
        title=f"{client.name} {version}: {client.summarize(most=1)}",
        summary=f"{client.summarize()}. It fails {', '.join(apis)}.",
        date=date,
    )
