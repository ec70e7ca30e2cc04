"""Build the website into a folder; every page can be opened from disk."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from ..blocks import ROOT
from .build import build_site

DEFAULT = ROOT / "dist" / "site"


def main() -> None:
    """Build the site into the folder that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=DEFAULT, help="the folder; it is replaced")
    out = parser.parse_args().out.resolve()
    started = time.monotonic()
    pages = build_site(out)
    sys.stdout.write(f"{pages:,} pages in {out}, {time.monotonic() - started:.1f} s\n")


if __name__ == "__main__":
    main()
