"""What a run is going to do: settings, trials and implementations; no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Greeting
from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.judge.judge import explain_skip
from streamconform.judge.proxy_expectation import adapt_to_proxy
from streamconform.model.case import AnyCase, Case
from streamconform.model.result import ImplementationInfo
from streamconform.model.trial import AnyTrial, Input, Trial, inputs
from streamconform.suite.load import COMMON


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is carried out."""

    workers: int
    """Programs per implementation."""
    timeout: float
    """Seconds for one trial."""
    seed: int = 0
    strict: bool = False
    maxfail: int = 0
    """Unexpected verdicts after which the run stops; 0: never."""
    input: Input | None = None
    """How implementations are fed; None: as each prefers."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An implementation and the trials that it is judged on."""

    index: int
    connection: Connection
    greeting: Greeting
    trials: tuple[AnyTrial, ...]
    skipped: tuple[tuple[AnyTrial, str], ...]
    """Trials that are not asked, with the reason."""
    input: Input = "bytes"

    def seen(self, trial: AnyTrial) -> AnyTrial:
        """Return `trial` as it is judged: through another api where the implementation is a proxy."""
        through = self.greeting.through
        return adapt_to_proxy(trial, through) if through is not None and isinstance(trial, Trial) else trial

    @property
    def info(self) -> ImplementationInfo:
        """Return what results say of the implementation."""
        greeting = self.greeting
        return ImplementationInfo(
            name=greeting.name,
            version=greeting.version,
            language=greeting.language,
            issues=greeting.issues,
            impl=self.connection.impl,
            input=self.input,
            claims={
                api or COMMON: tuple(sorted(greeting.claims(api)))
                for api in (*(each for each in APIS if greeting.apis is None or each in greeting.apis), None)
            },
        )


def divide(
    index: int,
    connection: Connection,
    greeting: Greeting,
    trials: Sequence[AnyTrial],
    asked_input: Input | None = None,
) -> Judged:
    """Return what is asked of an implementation and what is skipped, by what it claims.

    Trials that need another input than it is fed by are none of its. Raises `UsageError` where it does
    not take `asked_input`.
    """
    fed = asked_input or greeting.inputs[0]
    if fed not in greeting.inputs:
        taken = ", ".join(f"`{each}`" for each in greeting.inputs)
        raise UsageError(f"`--input {fed}`: `{connection.impl}` takes {taken} (its `inputs`)")
    reasons: dict[str, str | None] = {}
    asked: list[AnyTrial] = []
    skipped: list[tuple[AnyTrial, str]] = []
    for trial in trials:
        if fed not in inputs(trial):
            continue
        case = trial.case
        if case.id not in reasons:
            reasons[case.id] = unclaimed(case, greeting)
        reason = reasons[case.id]
        if reason is None:
            asked.append(trial)
        else:
            skipped.append((trial, reason))
    return Judged(index, connection, greeting, tuple(asked), tuple(skipped), fed)


def unclaimed(case: AnyCase, greeting: Greeting) -> str | None:
    """Return why nothing of `case` is asked of an implementation, or None."""
    if greeting.apis is not None and case.api is not None and case.api not in greeting.apis:
        return f"the api {case.api} is not claimed"
    if greeting.through is not None and isinstance(case, Case) and _answers(case) != 1:
        return f"its stream has {_answers(case)} answers, and the client of a proxy asks for one"
    return explain_skip(case, greeting.claims(case.api))


def _answers(case: Case) -> object:
    """Return how many answers the recorded request asks for, with `n` of OpenAI."""
    return (case.cassette.request.body or {}).get("n", 1)
