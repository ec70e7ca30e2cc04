"""Notice early that no answer is of use: a proxy without its upstream, an adapter that always fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from streamconform.model.leaf import Literally
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial, Trial
from streamconform.printable import collapse_variables, escape_line

COUNTED: Final = 50
"""The number of answers after which a run may be stopped."""
MAX_ADAPTER_ERRORS: Final = 0.8
"""The share of these answers that may be adapter errors."""
MAX_QUOTED: Final = 200


class FirstAnswers(Struct):
    """The first answers of an implementation to streams that a correct client reads to the end."""

    count: int = 0
    adapter_errors: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """The errors, without the parts that vary between messages with the same cause."""
    example: str = ""

    def add(self, result: TrialResult, trial: AnyTrial) -> bool:
        """Count an answer; return whether it is the last one that counts."""
        if self.count >= COUNTED or result.verdict == "skipped" or not _expects_complete(trial):
            return False
        self.count += 1
        # A failure that the user has listed is no surprise.
        if result.verdict == "faulted":
            self.adapter_errors[result.reason or "unknown"] += 1
        elif result.verdict != "known" and (error := _read_error(result)) is not None:
            self.errors[collapse_variables(error)] += 1
            self.example = error
        return self.count == COUNTED

    def find_fault(self, impl: str) -> str | None:
        """Return why the run should stop, and what to do, or None."""
        next_step = f"next: conform smoke {impl}"
        failed = self.adapter_errors.total()
        if failed >= MAX_ADAPTER_ERRORS * self.count:
            ((reason, _),) = self.adapter_errors.most_common(1)
            return (
                f"{failed} of the first {self.count} answers of `{impl}` are adapter errors, such as "
                f"{escape_line(reason, MAX_QUOTED)}; {next_step}"
            )
        if self.errors.total() < self.count or len(self.errors) > 1:
            return None
        if impl.startswith("proxy:"):
            return f"the proxy answers every request with the same error ({self.example}); is it configured?"
        return (
            f"the first {self.count} answers of `{impl}` are all the same error: {self.example}; {next_step}"
        )


def _expects_complete(trial: AnyTrial) -> bool:
    return isinstance(trial, Trial) and trial.expect.fields.get("status") == Literally("complete")


def _read_error(result: TrialResult) -> str | None:
    """Return the error that the answer consists of, or None if it has content or no error."""
    observation = result.observation or {}
    outcome = observation.get("outcome")
    if not isinstance(outcome, Mapping) or outcome.get("status") != "error" or outcome.get("content"):
        return None
    error = observation.get("raised") or outcome.get("error")
    if not isinstance(error, Mapping):
        return "an error without a message"
    words = (error.get(name) for name in ("status", "type", "message"))
    return escape_line(" ".join(str(word) for word in words if word), MAX_QUOTED)
