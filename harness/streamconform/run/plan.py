"""Plan a run: its settings and the trials of each implementation. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Greeting
from streamconform.adapters.program import START_SECONDS
from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.judge.judge import explain_unclaimed
from streamconform.judge.proxy_expectation import adapt_to_proxy
from streamconform.model.behavior import Control
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case
from streamconform.model.result import ImplementationInfo
from streamconform.model.trial import WEBSOCKET, AnyTrial, Input, Trial, supported_inputs
from streamconform.run.grown import is_grown
from streamconform.run.vendor import explain_foreign_case, explain_foreign_trial
from streamconform.suite.build import COMMON

CONTROL: Final = "control."
"""The beginning of names in `lacks` that are about what a client is asked to do besides reading an answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run."""

    workers: int
    """The number of parallel programs per implementation."""
    timeout: float
    """Seconds per trial."""
    start_timeout: float = START_SECONDS
    """Seconds until the greeting in which a program may be idle."""
    seed: int = 0
    strict: bool = False
    maxfail: int = 0
    """The number of unexpected verdicts after which the run stops; 0 means no limit."""
    input: Input | None = None
    """The input mode; None selects the first one in each implementation's `inputs`."""


@dataclass(frozen=True)
class ImplementationPlan:
    """An implementation, along with the trials to run and the trials to skip."""

    index: int
    connection: Connection
    greeting: Greeting
    trials: tuple[AnyTrial, ...]
    skipped: tuple[tuple[AnyTrial, str], ...]
    """Trials that are not run, each with the reason."""
    input: Input = "bytes"
    unclaimed: tuple[AnyTrial, ...] = ()
    """The trials of APIs that the implementation does not claim; they are not part of the run."""

    @property
    def all_trials(self) -> tuple[AnyTrial, ...]:
        """Return the trials to run and those to skip."""
        return (*self.trials, *(trial for trial, _ in self.skipped))

    @cached_property  # asked for every trial
    def is_measured(self) -> bool:
        """Return whether a program runs one trial at a time, because what it uses is reported."""
        return any(map(is_grown, self.trials))

    def without(self, done: Collection[tuple[int, str]]) -> ImplementationPlan:
        """Return the plan without the trials in `done`: pairs of implementation index and trial id."""
        return replace(
            self,
            trials=tuple(trial for trial in self.trials if (self.index, trial.id) not in done),
            skipped=tuple(pair for pair in self.skipped if (self.index, pair[0].id) not in done),
        )

    def apply_proxy_view(self, trial: AnyTrial) -> AnyTrial:
        """Return `trial` with the expectation for the proxied stream if the implementation is a proxy."""
        through = self.greeting.through
        return adapt_to_proxy(trial, through) if through is not None and isinstance(trial, Trial) else trial

    @property
    def info(self) -> ImplementationInfo:
        """Return the implementation's entry in the results header."""
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
                for api in (*(name for name in APIS if greeting.apis is None or name in greeting.apis), None)
            },
        )


def plan_implementation(
    index: int,
    connection: Connection,
    greeting: Greeting,
    trials: Sequence[AnyTrial],
    requested_input: Input | None = None,
) -> ImplementationPlan:
    """Divide `trials` into those to run and those to skip, according to the implementation's claims.

    Trials of other APIs, and those that need a different input mode or transport, are left out. Raises
    `UsageError` if the implementation does not support `requested_input`.
    """
    # The input mode is known only after the greeting, so the suite was expanded for HTTP, which has the most
    # trials.
    mode = requested_input or greeting.inputs[0]
    if mode not in greeting.inputs:
        supported = ", ".join(f"`{name}`" for name in greeting.inputs)
        raise UsageError(f"`--input {mode}`: `{connection.impl}` supports only {supported} (its `inputs`)")
    reasons: dict[str, str | None] = {}
    planned: list[AnyTrial] = []
    skipped: list[tuple[AnyTrial, str]] = []
    unclaimed: list[AnyTrial] = []
    for trial in trials:
        if mode not in supported_inputs(trial) or not _speaks_transport(trial, greeting):
            continue
        case = trial.case
        if not _claims_api(case, greeting):
            unclaimed.append(trial)
            continue
        # Done once per case rather than for each of its twenty or so trials: for a vendor's client, each
        # payload of the body is validated.
        if case.id not in reasons:
            reasons[case.id] = explain_skip(case, greeting, mode)
        reason = reasons[case.id]
        if reason is None and greeting.vendor is not None:
            reason = explain_foreign_trial(trial, greeting.vendor)
        if reason is None:
            planned.append(trial)
        else:
            skipped.append((trial, reason))
    return ImplementationPlan(
        index, connection, greeting, tuple(planned), tuple(skipped), mode, tuple(unclaimed)
    )


def explain_skip(case: AnyCase, greeting: Greeting, mode: Input = "http") -> str | None:
    """Return why an implementation skips `case` in an input mode, or None if it does not skip it."""
    if not _claims_api(case, greeting):
        return f"the API {case.api} is not claimed"
    if greeting.through is not None and isinstance(case, Case) and _count_choices(case) != 1:
        return f"its stream has {_count_choices(case)} choices, but a proxy's client requests only one"
    # Without a server, a round trip consists of calls to `build_request`.
    claims = greeting.claims(case.api) - (frozenset() if mode == "http" else {"round_trips"})
    unclaimed = explain_unclaimed(case, claims) or _explain_lacking(case, greeting.lacks)
    if unclaimed is None and greeting.vendor is not None:
        return explain_foreign_case(case, greeting.vendor)
    return unclaimed


def _explain_lacking(case: AnyCase, lacks: frozenset[str]) -> str | None:
    """Return what the client cannot do, of a case's control or of the settings of its request, or None.

    Round trips are not skipped: they are about what the answer adds, not about the settings.
    """
    if isinstance(case, BehaviorCase):
        lacking = [name for name in _list_controls(case.control) if name in lacks]
        return f"the client has no {lacking[0].removeprefix(CONTROL)}" if lacking else None
    if not lacks or not isinstance(case, CallCase) or case.kind != "request":
        return None
    asked = case.input.keys() if case.input.get("stream") is False else case.input.keys() - {"stream"}
    lacking = sorted(lacks & asked)
    return f"the client has no setting for {lacking[0]}" if lacking else None


def _speaks_transport(trial: AnyTrial, greeting: Greeting) -> bool:
    """Return whether the implementation can be reached over the transport of `trial`."""
    if trial.transport == "http":
        return True
    return WEBSOCKET in greeting.claims(trial.case.api) and greeting.through is None


def _list_controls(control: Control) -> Iterator[str]:
    """Yield the names in `lacks` of what a client is asked to do."""
    if control.stop is not None:
        yield f"{CONTROL}{control.stop}"
    if control.after == 0:
        yield f"{CONTROL}first_byte"
    if control.at_once is not None:
        yield f"{CONTROL}at_once"
    if control.times is not None:
        yield f"{CONTROL}times"


def _claims_api(case: AnyCase, greeting: Greeting) -> bool:
    return greeting.apis is None or case.api is None or case.api in greeting.apis


def _count_choices(case: Case) -> object:
    """Return the number of choices requested (OpenAI's `n`)."""
    return (case.cassette.request.body or {}).get("n", 1)
