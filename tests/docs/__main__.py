"""Regenerate the outputs and tables in the documentation, and the golden files of reports.

Without NAME, everything is regenerated. Only files that change are written; times in outputs do not count.
"""

from __future__ import annotations

import argparse
import sys

from .blocks import ROOT
from .generators import GENERATORS, Generator


def main() -> None:
    """Run the generators that the command line selects."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.docs",
        description=__doc__,
        epilog="\n".join(_describe(generator) for generator in GENERATORS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a generator in the list below")
    parser.add_argument("--fast", action="store_true", help="leave out those that take minutes")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in GENERATORS]
    if unknown:
        parser.error(f"unknown generator `{unknown[0]}`; known are {', '.join(GENERATORS)}")
    names = options.names or GENERATORS
    for generator in (GENERATORS[name] for name in names):
        if options.fast and generator.slow:
            continue
        sys.stdout.write(f"{generator.name}: {generator.writes}\n")
        sys.stdout.flush()
        for path in generator.write():
            sys.stdout.write(f"  wrote {path.relative_to(ROOT)}\n")


def _describe(generator: Generator) -> str:
    return f"  {generator.name:12}{generator.writes}{' (takes minutes)' if generator.slow else ''}"


if __name__ == "__main__":
    main()
