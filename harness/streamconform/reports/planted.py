"""Answer `conform run --plant FILE`: which cases catch the bug, or how to propose one. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from streamconform.apis import APIS
from streamconform.causes.raised import describe_error
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case
from streamconform.model.result import TrialResult, is_unexpected
from streamconform.model.trial import AnyTrial, Behavior, Trial
from streamconform.plural import format_count
from streamconform.printable import escape_line, escape_unprintable
from streamconform.reports.describe import VERDICT_LABELS, describe_failure
from streamconform.reports.style import StyledLine
from streamconform.run.results import Results
from streamconform.wire.framings import MESSAGE_REWRITERS, split

MAX_CASES: Final = 5
"""The number of cases to list without `-v`."""
MAX_DELIVERIES: Final = 3
MAX_BODY: Final = 3000
"""The number of characters to show of a body that cannot be made smaller."""
_FRAME: Final = re.compile(r'File "([^"]+)", line ([0-9]+)')
STEPS: Final = (
    "Find a stream on which it differs from the bundled parser, in generated answers or in recordings:",
    "  conform fuzz -i {impl}",
    "  conform compare reference {impl} --corpus FOLDER",
    "Import the stream, or write it from the provider's documentation; this also drafts a spec:",
    "  conform import STREAM --api API --name NAME",
    "Correct the draft's expectation from the documentation, and check that it catches the bug:",
    "  conform run --plant {file} --specs specs --cassettes cassettes",
    "Open a pull request with the case and {file}, which becomes its mutant:",
    "  CONTRIBUTING.md, `Add a case`",
)
"""How to propose a case: numbered sentences, each followed by its commands."""


@dataclass(frozen=True, slots=True)
class Catch:
    """A case that catches the bug, with its failed trials."""

    trial: AnyTrial
    """The first of the smallest trials that failed, or that gave a warning if none did."""
    results: tuple[TrialResult, ...]
    """The results of all trials that failed, in suite order."""
    size: int
    """The bytes of the recorded body, or of the function's input."""

    @property
    def result(self) -> TrialResult:
        """Return the result of `trial`."""
        return next(result for result in self.results if result.id == self.trial.id)


def list_catches(results: Results, trials: Iterable[AnyTrial]) -> list[Catch]:
    """Return the cases that catch the bug, those with the smallest body first."""
    by_id = {trial.id: trial for trial in trials}
    failed: dict[str, list[TrialResult]] = defaultdict(list)
    for result in results.trials:
        if is_unexpected(result, strict=True) and not _is_own_fault(result):
            failed[result.case].append(result)
    catches = [_make_catch(by_id, each) for each in failed.values()]
    return sorted(catches, key=lambda catch: (catch.size, catch.result.case))


def _make_catch(by_id: Mapping[str, AnyTrial], results: list[TrialResult]) -> Catch:
    worst = [result for result in results if result.verdict != "warn"] or results
    trials = [by_id[result.id] for result in worst]
    smallest = min(trials, key=_rank_trial)
    return Catch(smallest, tuple(results), _measure_case(smallest.case))


def _rank_trial(trial: AnyTrial) -> tuple[bool, int]:
    """Return the sort key of a trial: only one over HTTP can be minimised, and a small one is clear."""
    if not isinstance(trial, Trial):
        return False, 0
    return trial.transport != "http", len(trial.body)


def _measure_case(case: AnyCase) -> int:
    if isinstance(case, CallCase):
        return len(json.dumps(case.input))
    if isinstance(case, BehaviorCase):
        return len(case.streams["text"].cassette.body)
    cassette = case.cassette if isinstance(case, Case) else case.answers[-1].cassette
    return len(cassette.body)


def describe_faults(file: str, results: Results) -> list[StyledLine]:
    """Return how often the planted file itself was at fault, and where, one line per place."""
    places: dict[str, int] = defaultdict(int)
    for result in filter(_is_own_fault, results.trials):
        frames = _FRAME.findall(str((result.observation or {}).get("traceback", "")))
        place = f" ({PurePath(frames[-1][0]).name}:{frames[-1][1]})" if frames else ""
        places[escape_line(f"{result.reason}{place}", 300)] += 1
    listed = sorted(places.items(), key=lambda item: -item[1])[:MAX_CASES]
    start = f"At fault: {escape_line(file, 200)} itself"
    return [
        StyledLine(f"{start}, in {format_count(count, 'trial')}: {text}", "bold") for text, count in listed
    ]


def _is_own_fault(result: TrialResult) -> bool:
    return result.verdict == "faulted"


def describe_caught(
    file: str, results: Results, catches: list[Catch], *, verbose: bool
) -> Iterator[StyledLine]:
    """Yield the headline and the cases that catch the bug, at most `MAX_CASES` unless `verbose`."""
    trials = sum(len(catch.results) for catch in catches)
    yield StyledLine(
        f"Caught: {len(catches):,} of {format_count(results.header.cases, 'case')} "
        f"catch {escape_line(file, 200)}, in {format_count(trials, 'trial')}; the smallest first",
        "bold",
    )
    if all(result.verdict == "warn" for catch in catches for result in catch.results):
        yield StyledLine("They only warn: a client's run fails for this bug only with --strict")
    listed = catches if verbose else catches[:MAX_CASES]
    for catch in listed:
        yield StyledLine("")
        yield from _describe_catch(catch)
    if len(catches) > len(listed):
        yield StyledLine("")
        yield StyledLine(f"and {format_count(len(catches) - len(listed), 'other case')}; -v lists all")


def _describe_catch(catch: Catch) -> Iterator[StyledLine]:
    result = catch.result
    names = [each.delivery for each in catch.results if each.delivery is not None]
    more = f" and {len(names) - MAX_DELIVERIES} more" if len(names) > MAX_DELIVERIES else ""
    where = f"; {', '.join(names[:MAX_DELIVERIES])}{more}" if names else ""
    label = VERDICT_LABELS[result.verdict]
    yield StyledLine(f"{result.case}  {result.level}, {label}, {catch.size:,} bytes{where}")
    yield StyledLine(f"   {escape_line(catch.trial.case.title, 300)}")
    check = next((check for check in result.checks if check.verdict in ("fail", "warn")), None)
    lines = (*describe_failure(result, check), *describe_error(result))
    yield from (StyledLine(f"   {line}") for line in lines)


def describe_not_caught(file: str, results: Results) -> Iterator[StyledLine]:
    """Yield the headline and the steps to propose a case."""
    counts = f"{format_count(results.header.trials, 'trial')} of {format_count(results.header.cases, 'case')}"
    skipped = sum(result.verdict == "skipped" for result in results.trials)
    note = f" ({skipped:,} skipped)" if skipped else ""
    yield StyledLine(f"Not caught: no case catches {escape_line(file, 200)}, in {counts}{note}", "bold")
    yield StyledLine("To propose a case:")
    number = 0
    for step in STEPS:
        is_command = step.startswith("  ")
        number += not is_command
        text = escape_unprintable(step.format(file=file, impl=f"plant:{file}"))
        yield StyledLine(f"   {text}" if is_command else f"{number}. {text}")


def describe_input(trial: AnyTrial) -> Iterator[StyledLine]:
    """Yield a trial's input as text: the frames of a stream, or the input of a function."""
    yield StyledLine(trial.id)
    if isinstance(trial, Trial):
        framing = APIS[trial.case.api].detect_framing(trial.case.cassette.status, trial.body)
        if framing in MESSAGE_REWRITERS:
            lines = [
                f"{frame.event or 'message'}: {frame.payload.decode('utf-8', 'backslashreplace')}"
                for frame in split(framing, trial.body)
            ]
        else:
            lines = trial.body.decode("utf-8", "backslashreplace").rstrip("\n").split("\n")
    elif isinstance(trial, Behavior):
        lines = [trial.case.title]
    else:
        case = trial.case
        lines = [json.dumps(case.input if isinstance(case, CallCase) else dict(case.conversation))]
    yield from (StyledLine(f"  {escape_line(line, MAX_BODY)}".rstrip()) for line in lines)
