"""Read `<specs>/threads.yaml`: the public threads about bugs that cases guard against."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case, RoundTripCase
from streamconform.schemas import check_document
from streamconform.yaml_text import reader

ThreadPath = Literal["stream", "document", "request", "replay", "behavior", "server", "function"]
"""What the code does that has the bug; `function` if it belongs to no API."""
FILE: Final = "threads.yaml"
_LINK: Final = re.compile(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull|discussions)/(\d+)")


@dataclass(frozen=True, slots=True)
class Thread:
    """A public thread; `says` is None if it was not found, and then nothing else is known."""

    says: str | None
    looked_up: str
    """The date when it was read, or searched for in vain, as YYYY-MM-DD."""
    kinds: tuple[str, ...] = ()
    """Keys of `kinds.yaml`."""
    apis: tuple[str, ...] = ()
    """The APIs that the code with the bug reads or writes."""
    paths: tuple[ThreadPath, ...] = ()
    opinion: str | None = None
    """What the maintainers said."""
    path: str = ""
    line: int = 0

    def find_misfit(self, case: AnyCase) -> str | None:
        """Return why `case` cannot guard against the bug, or None."""
        if self.says is None:
            return f"was not found on {self.looked_up}; remove it"
        if case.api is None:
            return None if "function" in self.paths else "is not about a function that belongs to no API"
        if case.api not in self.apis:
            return f"is about {' and '.join(self.apis) or 'no API'}, and not about {case.api}"
        shown = _list_paths(case)
        if not {*shown} & {*self.paths}:
            return f"is about the path {' and '.join(self.paths)}, and not about {' or '.join(shown)}"
        return None

    def find_misfit_as_source(self, case: AnyCase) -> str | None:
        """Return why the thread cannot support the expectation of `case`, or None.

        Unlike a guard, it may be about another path: a bug in a request can show the form of an answer.
        """
        # A thread about the form of an API's bodies supports cases of the API that carries them, too.
        apis = set() if case.api is None else {case.api, APIS[case.api].bodies_of}
        if self.says is not None and (case.api is None or apis & {*self.apis}):
            return None
        return self.find_misfit(case)


def name_thread(source: str) -> str | None:
    """Return the name, such as `owner/repo#1`, of the thread that `source` links to, or None."""
    link = _LINK.match(source)
    return f"{link[1]}#{link[2]}" if link else None


def _list_paths(case: AnyCase) -> tuple[ThreadPath, ...]:
    """Return the paths of the bugs that `case`, which belongs to an API, can show.

    What a server does wrong is in an answer, which a client reads.
    """
    match case:
        case Case():
            return ("stream" if case.stream else "document", "server")
        case RoundTripCase():
            return ("stream", "document", "request", "replay", "server")
        case BehaviorCase():
            return ("behavior",)
        case CallCase():
            return ("request", "replay")


def read_threads(specs: Path) -> Mapping[str, Thread]:
    """Return the threads in `specs` by name; a missing file counts as empty.

    Raises a `SourceError` that lists every problem in the file.
    """
    path = specs / FILE
    if not path.exists():
        return {}
    document = reader.read(path)
    problems = check_document("threads.v1", document) or tuple(_check_entries(document))
    if problems:
        raise SourceError(problems)
    return {
        name: Thread(
            entry.get("says"),
            entry.get("read") or entry["not_found"],
            tuple(entry.get("kinds", ())),
            tuple(entry.get("apis", ())),
            tuple(entry.get("paths", ())),
            entry.get("opinion"),
            document.path,
            document.line(("entries", name)) or 0,
        )
        for name, entry in document.value["entries"].items()
    }


def _check_entries(document: reader.Document) -> Iterator[Problem]:
    """Yield the names that are out of order, and the APIs that do not exist."""
    entries = document.value["entries"]
    for before, name in pairwise(entries):
        if name.lower() < before.lower():
            yield document.problem(("entries", name), f"`{name}` belongs before `{before}`")
    for name, entry in entries.items():
        for at, api in enumerate(entry.get("apis", ())):
            if api not in APIS:
                yield document.problem(("entries", name, "apis", at), f"no API `{api}`")
