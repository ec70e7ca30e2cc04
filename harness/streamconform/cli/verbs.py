"""The commands and their summaries: those of this package, and those of others, found by entry point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

GROUP: Final = "streamconform.commands"
"""The entry points: each names a tuple of `Verb`s. A package that is not installed adds no commands."""

Heading = Literal["Judge", "Capture", "Examine", "Libraries", "Maintain"]
HEADINGS: Final[tuple[Heading, ...]] = ("Judge", "Capture", "Examine", "Libraries", "Maintain")


class Verb(NamedTuple):
    """A command: how `--help` lists it, and the module that defines it as `command`."""

    name: str
    heading: Heading
    summary: str
    module: str
    is_listed: bool = True


VERBS: Final = (
    Verb("run", "Judge", "Judge implementations against the recorded streams.", "streamconform.cli.run"),
    Verb("list", "Judge", "List the cases that a run would judge.", "streamconform.cli.list"),
    Verb(
        "explain",
        "Judge",
        "Show a case: its frames and events, and expected and actual values.",
        "streamconform.cli.explain",
    ),
    Verb(
        "report",
        "Judge",
        "Make a report from results: HTML, JUnit, Markdown, a badge.",
        "streamconform.cli.report",
    ),
    Verb("diff", "Judge", "Compare two results files: new and fixed failures.", "streamconform.cli.diff"),
    Verb("init", "Judge", "Add an adapter, a workflow and a config to a project.", "streamconform.cli.init"),
    Verb("smoke", "Judge", "Check an adapter before you blame the library.", "streamconform.cli.smoke"),
    Verb("schema", "Judge", "Print a published JSON Schema.", "streamconform.cli.schema"),
    Verb(
        "serve",
        "Capture",
        "Serve the recorded streams over HTTP, or write them as files.",
        "streamconform.cli.serve",
    ),
)


@cache
def load_verbs() -> Mapping[str, Verb]:
    """Return all commands by name, in the order of their headings."""
    from importlib.metadata import entry_points  # only the help and other packages' commands need it

    found = [*VERBS]
    for entry in entry_points(group=GROUP):
        found.extend(entry.load())
    found.sort(key=lambda verb: HEADINGS.index(verb.heading))
    return {verb.name: verb for verb in found}


def find_verb(name: str) -> Verb | None:
    """Return the command with this name, or None. The commands of this package need no other package."""
    own = next((verb for verb in VERBS if verb.name == name), None)
    return own or load_verbs().get(name)
