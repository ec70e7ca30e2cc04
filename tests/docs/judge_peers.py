"""Judge peers one after another, and write their scores to docs/matrix/results.

Each peer has its own run, so that it cannot affect the others, and a killed run leaves their results.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from streamconform_peers.peer import Peer
from streamconform_peers.table import PEERS

from .blocks import ROOT
from .matrix import RESULTS

RUNS = Path(".conform/matrix")
CONFORM = (sys.executable, "-m", "streamconform")


def main() -> int:
    """Return the worst exit code; 128 or more means a signal, which ends everything."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.judge_peers", description=__doc__)
    parser.add_argument("names", nargs="*", help="peers [default: all]")
    parser.add_argument("--update", action="store_true", help="rewrite the known failures")
    options = parser.parse_args()
    names = options.names or [*PEERS]
    started, codes = time.monotonic(), [0]
    subprocess.run((*CONFORM, "peers", "install", *names), cwd=ROOT, check=True)
    for name in names:
        sys.stdout.write(f"== {name}\n")
        sys.stdout.flush()
        codes.append(_judge(PEERS[name], update=options.update))
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
        report = (*CONFORM, "report", f"scores={RESULTS / f'{peer.name}.json'}", str(results))
        subprocess.run(report, cwd=ROOT, check=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
