"""List what changed in docs/matrix/results since the last commit: releases, and cases fixed or new."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from streamconform.reports.scores.document import Scores, read_scores
from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.matrix import RESULTS, read_clients


def list_changes() -> Iterator[str]:
    """Yield each peer that changed, and its changes."""
    for client in read_clients():
        path = (RESULTS / f"{client.peer}.json").relative_to(ROOT)
        shown = subprocess.run(
            ("git", "show", f"HEAD:{path.as_posix()}"), cwd=ROOT, capture_output=True, check=False
        )
        lines = list(compare(read_scores(shown.stdout), client.scores)) if not shown.returncode else ["  new"]
        if lines:
            yield from (client.peer, *lines)


def compare(old: Scores, new: Scores) -> Iterator[str]:
    """Yield a line for each difference between two scores of the same peer."""
    releases = [scores.implementation.version for scores in (old, new)]
    if releases[0] != releases[1]:
        yield f"  release {releases[0]} -> {releases[1]}"
    before, after = list_failing(old), list_failing(new)
    for case in sorted(before.keys() - after.keys()):
        yield f"  fixed    {case}: {before[case]}"
    for case in sorted(after.keys() - before.keys()):
        yield f"  new      {case}: {after[case]}"
    for case in sorted(before.keys() & after.keys()):
        if before[case] != after[case]:
            yield f"  changed  {case}: {before[case]} -> {after[case]}"


def list_failing(scores: Scores) -> dict[str, str]:
    """Return the headlines of the causes of each failing case."""
    titles: dict[str, list[str]] = {}
    for api, own in scores.apis.items():
        for cause in own.failures:
            for case in cause.list_cases(api):
                titles.setdefault(case, []).append(cause.title)
    return {case: "; ".join(sorted(causes)) for case, causes in titles.items()}
