"""Scenarios: conversations for live servers, independent of any provider (`scenarios.v1.json`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from streamconform.apis.api import Probing
from streamconform.errors import Problem, SourceError
from streamconform.resources import find_bundled
from streamconform.schemas import check_document, find_problems
from streamconform.yaml_text import reader

FOLDER: Final = "scenarios"
TOPICS: Final = ("text", "tools", "thinking", "errors")
"""The scenario files, in the order in which they are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """Requirements that the server must meet regardless of what its model answers."""

    calls: tuple[int, int | None] | None = None
    """The minimum and maximum number of calls to the client's tools; None allows any number."""
    names: frozenset[str] = frozenset()
    """Tools that may be called; if empty, calls are not checked."""
    stops: frozenset[str] = frozenset()
    """Allowed stop reasons, in the normal form."""
    excluded_text: str | None = None
    """The stop sequence, which the text must not contain."""
    may_refuse: bool = False
    """Whether a server may refuse the request because its model does not support it."""
    twin: bool = True
    """Whether `conform probe` repeats the request without streaming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One conversation."""

    name: str
    title: str
    conversation: Mapping[str, Any]
    """The input for `build_request`, usually without a model."""
    stop: str | None = None
    """A stop sequence, for the APIs that support them."""
    needs: tuple[str, ...] = ()
    """Fields of `Probing` that must be set for the API."""
    twice: bool = False
    """Whether to repeat the request and also record the second answer; its prompt may come from a cache."""
    error: bool = False
    """Whether providers reject the request; a server with only one model may ignore the model name."""
    probed: bool = False
    """Whether `conform probe` uses the scenario; `conform record` uses all."""
    expected: ExpectedAnswer = ExpectedAnswer()

    def possible(self, probing: Probing) -> bool:
        """Return whether an API can express the scenario."""
        return all(getattr(probing, name) for name in self.needs)


def read_scenarios(specs: Path) -> tuple[Scenario, ...]:
    """Return the scenarios in the `scenarios` subfolder of `specs`.

    Raises:
        SourceError: a file is missing or invalid, or two scenarios have the same name.

    """
    found: dict[str, Scenario] = {}
    for topic in TOPICS:
        document = reader.read(specs / FOLDER / f"{topic}.yaml")
        problems = [*check_document("scenarios.v1", document)] or [*_check_conversations(document)]
        if not problems and document.value["topic"] != topic:
            problems = [document.problem(("topic",), f"expected `{topic}`, as in the file name")]
        if problems:
            raise SourceError(tuple(problems))
        for number, entry in enumerate(document.value["asked"]):
            if entry["name"] in found:
                place = ("asked", number, "name")
                raise SourceError((document.problem(place, f"another scenario is called `{entry['name']}`"),))
            found[entry["name"]] = _make_scenario(entry)
    return tuple(found.values())


@cache
def load_bundled() -> tuple[Scenario, ...]:
    """Return the scenarios of the bundled suite."""
    return read_scenarios(find_bundled("specs"))


def _check_conversations(document: reader.Document) -> Iterator[Problem]:
    for number, entry in enumerate(document.value["asked"]):
        # The schema requires a model, but most scenarios leave it to the command that sends them.
        conversation = {"model": "any"} | entry["conversation"]
        for message in find_problems("conversation.v1", conversation):
            yield document.problem(("asked", number, "conversation"), message)


def _make_scenario(entry: Mapping[str, Any]) -> Scenario:
    probe = entry.get("probe", {})
    calls = probe.get("calls")
    expected = ExpectedAnswer(
        calls=None if calls is None else (calls[0], calls[1]),
        names=frozenset(probe.get("names", ())),
        stops=frozenset(probe.get("stops", ())),
        excluded_text=probe.get("excluded_text"),
        may_refuse=probe.get("may_refuse", False),
        twin=probe.get("twin", True),
    )
    return Scenario(
        name=entry["name"],
        title=entry["title"],
        conversation=entry["conversation"],
        stop=entry.get("stop"),
        needs=tuple(entry.get("needs", ())),
        twice=entry.get("twice", False),
        error=entry.get("error", False),
        probed="probe" in entry,
        expected=expected,
    )
