"""Continue an interrupted run: require the same settings, and undo the effect of known failures. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from streamconform.errors import UsageError
from streamconform.judge.judge import SKIPPED_THOUGH_CLAIMED
from streamconform.model.result import Header, TrialResult
from streamconform.model.verdict import Verdict

IMPLEMENTATION_FIELDS: Final = ("impl", "name", "version", "language", "input", "claims")


def require_same_run(earlier: Header, current: Header) -> None:
    """Raise `UsageError` unless both runs have the same implementations, suite and selection."""
    for what, before, now in _list_values(earlier, current):
        if before != now:
            raise UsageError(
                f"cannot resume: {what} was `{before}` and is now `{now}`; start a new run without `--resume`"
            )


def unsettle(result: TrialResult) -> TrialResult:
    """Return `result` with the verdict that it had before known failures were applied."""
    if result.verdict == "stale":
        return replace(result, verdict="pass", reason=None)
    if result.verdict != "known":
        return result
    return replace(result, verdict=_find_verdict(result), known=None, tracked=())


def _find_verdict(result: TrialResult) -> Verdict:
    verdicts = {check.verdict for check in result.checks}
    if "fail" in verdicts:
        return "fail"
    if "warn" in verdicts:
        return "warn"
    # This is the only failure without a check.
    if (result.reason or "").startswith(SKIPPED_THOUGH_CLAIMED):
        return "fail"
    return "faulted" if result.culprit == "adapter" else "hang"


def _list_values(earlier: Header, current: Header) -> Iterator[tuple[str, Any, Any]]:
    yield "the version of streamconform", earlier.version, current.version
    yield "the version of the rules", earlier.rules, current.rules
    yield "the list of implementations", _list_impls(earlier), _list_impls(current)
    for before, now in zip(earlier.implementations, current.implementations, strict=True):
        for name in IMPLEMENTATION_FIELDS:
            yield f"`{name}` of {before.impl}", getattr(before, name), getattr(now, name)
    # Sorted, so that the first difference, which the error names, is always the same.
    for name in sorted({*earlier.selection, *current.selection}):
        yield f"`{name}`", _to_list(earlier.selection.get(name)), _to_list(current.selection.get(name))
    yield "the seed", earlier.seed, current.seed
    yield "the number of trials", earlier.trials, current.trials
    yield "the digest of the selected cases", earlier.digest, current.digest


def _list_impls(header: Header) -> str:
    return ", ".join(info.impl for info in header.implementations)


def _to_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
