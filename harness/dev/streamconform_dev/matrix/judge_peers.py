"""Judge peers one after another, and write their scores to docs/matrix/results.

Each peer has its own run, so that it cannot affect the others, and a killed run leaves their results. A run
that finds what the last one found leaves the file as it is, with its date.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streamconform.reports.scores.document import read_scores
from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.command import CONFORM
from streamconform_dev.docs.matrix import RESULTS
from streamconform_peers.peer import Peer
from streamconform_peers.table import PEERS

RUNS = Path(".conform/matrix")


def judge_peers(names: Sequence[str], *, update: bool) -> int:
    """Return the worst exit code; 128 or more means a signal, which ends everything."""
    started, codes = time.monotonic(), [0]
    subprocess.run((*CONFORM, "peers", "install", *names), cwd=ROOT, check=True)
    for name in names:
        sys.stdout.write(f"== {name}\n")
        sys.stdout.flush()
        codes.append(_judge(PEERS[name], update=update))
        if codes[-1] >= 128 or codes[-1] < 0:
            return abs(codes[-1])
    sys.stdout.write(f"{len(names)} peers in {time.monotonic() - started:,.0f} s\n")
    return max(codes)


def _judge(peer: Peer, *, update: bool) -> int:
    results = RUNS / f"{peer.name}.jsonl"
    run = (
        *(*CONFORM, "run", "-i", f"peer:{peer.name}", "-n", "4", "--timeout", "60"),
        *(("--known-failures", str(peer.known_failures)) if update or peer.known_failures.exists() else ()),
        # Trials of other APIs would only be expanded and skipped.
        *(word for api in peer.apis for word in ("--api", api)),
        *(["--update-known-failures"] if update else ()),
        *("--report", f"jsonl={results}"),
    )
    code = subprocess.run(run, cwd=ROOT, check=False).returncode
    if 0 <= code < 128:
        scores = RESULTS / f"{peer.name}.json"
        before = scores.read_bytes() if scores.exists() else None
        subprocess.run((*CONFORM, "report", f"scores={scores}", str(results)), cwd=ROOT, check=True)
        if before is not None and differ_only_in_date(before, scores.read_bytes()):
            scores.write_bytes(before)
    return code


def differ_only_in_date(before: bytes, after: bytes) -> bool:
    """Return whether two documents with scores say the same, apart from the day of the run."""
    new = read_scores(after)
    return replace(read_scores(before), date=new.date) == new
