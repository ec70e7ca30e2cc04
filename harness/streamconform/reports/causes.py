"""Unexpected results grouped by cause: the same check failing in many cases is one thing to mend."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from streamconform.model.result import Header, ImplementationInfo, TrialResult
from streamconform.model.trial import DELIVERY_SETS, FAULTS
from streamconform.model.verdict import Check

NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
"""What differs between two accounts of the same mishap: offsets, lines, byte values."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that failed in the same way in one or more deliveries."""

    first: TrialResult
    check: Check | None
    """The first check that failed; None where there was no answer to check."""
    deliveries: tuple[str, ...]
    also: tuple[str, ...]
    """Paths of further checks that failed with it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What failed, and the cases in which it did."""

    implementation: int
    what: str
    failures: tuple[Failure, ...]

    @property
    def trials(self) -> int:
        """Return how many trials failed by it."""
        return sum(len(failure.deliveries) for failure in self.failures)


def causes(results: Iterable[TrialResult]) -> tuple[Cause, ...]:
    """Return the causes of `results`, which all failed, the one with the most trials last."""
    groups: dict[tuple[int, str], dict[tuple[str, str], list[TrialResult]]] = {}
    for result in results:
        cases = groups.setdefault((result.implementation, _what(result)), {})
        cases.setdefault((result.case, _difference(result)), []).append(result)
    found = [
        Cause(implementation, what, tuple(_failure(same) for same in cases.values()))
        for (implementation, what), cases in groups.items()
    ]
    return tuple(sorted(found, key=lambda cause: (cause.implementation, cause.trials)))


def sources(header: Header) -> str:
    """Return the options that name the folders a run read, where they are not the bundled ones."""
    folders = {name: header.selection.get(name) for name in ("specs", "cassettes")}
    return "".join(f" --{name} {shlex.quote(folder)}" for name, folder in folders.items() if folder)


def reproduce(info: ImplementationInfo, result: TrialResult, header: Header) -> str:
    """Return the command that runs this one trial again."""
    probe = header.selection.get("probe")
    if isinstance(probe, str):
        return f"{probe} -k {shlex.quote(result.id)}"
    chosen = (f" --seed {header.seed}" if header.seed else "") + sources(header)
    chosen += f" --input {info.input}" if header.selection.get("input") else ""
    return f"conform run -i {shlex.quote(info.impl)} -k {shlex.quote(result.id)}{_asked(result)}{chosen}"


def explains(info: ImplementationInfo, result: TrialResult, header: Header) -> str:
    """Return the command that shows this one trial in full, as the same implementation reads it."""
    return f"conform explain {shlex.quote(result.id)} -i {shlex.quote(info.impl)}{sources(header)}"


def _asked(result: TrialResult) -> str:
    """Return the options without which a run does not have the trial."""
    name = result.delivery or ""
    if name.partition(".")[0] in FAULTS:
        return " --faults all"
    return "" if name in ("", *DELIVERY_SETS["standard"]) else " --deliver full"


def guards(results: Iterable[TrialResult]) -> tuple[str, ...]:
    """Return the real bugs that the cases of `results` guard, each once, in order."""
    return tuple(dict.fromkeys(bug for result in results for bug in result.guards))


def _first(result: TrialResult) -> Check | None:
    """Return the check that is shown: the first one of the worst verdict."""
    worst = min((check.verdict for check in result.checks), key=("fail", "warn", "may").index, default=None)
    return next((check for check in result.checks if check.verdict == worst), None)


def _what(result: TrialResult) -> str:
    check = _first(result)
    if check is not None:
        return re.sub(r"\.\d+\.", ".*.", check.path)
    return f"{result.verdict}: {NUMBER.sub('#', result.reason)}" if result.reason else result.verdict


def _difference(result: TrialResult) -> str:
    check = _first(result)
    return "" if check is None else repr((check.path, check.expected, check.got, check.message))


def _failure(same: list[TrialResult]) -> Failure:
    first = same[0]
    check = _first(first)
    also = tuple(dict.fromkeys(each.path for each in first.checks if each is not check))
    return Failure(first, check, tuple(each.delivery or "" for each in same), also)
