"""`conform dev`: the commands of the maintainers. A command's module is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from streamconform.cli.commands import LazyGroup

SUMMARIES: Final[Mapping[str, str]] = {
    "selftest": "Test the suite itself with broken parsers.",
    "kinds": "Show which kinds of bugs the suite asks of which API.",
    "names": "Show which names of the providers' SDKs no case contains.",
    "docs": "Regenerate what is generated in the documentation.",
    "site": "Build the website.",
    "bench": "Measure the speed of the reference, of peers and of the suite.",
    "matrix": "Judge peers, and write docs/matrix.",
    "finding": "Write a finding about a library as an issue for its tracker.",
    "history": "Find the releases that introduced and fixed the findings about a library.",
    "export-suite": "Write the suite as one file per API, for judges in any language.",
    "rehearse": "Build, install and use each package of a release.",
    "judges": "Compare the judges in other languages with the judge in Python.",
    "outdated": "List the libraries whose pinned release is not the newest one.",
}
"""Every command, with its summary for `--help`; each has its own module, which defines `command`."""


@click.group("dev", cls=LazyGroup, summaries=SUMMARIES, package=__name__)
def command() -> None:
    """Maintain the suite and its peers; these commands exist only in a checkout."""
