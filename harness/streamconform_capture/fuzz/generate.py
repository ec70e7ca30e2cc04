"""Turn generated answers into cases: a writer writes the bytes, and the answer is the expectation.

No parser is involved, so the answer is an oracle for every implementation, including the bundled one.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from hypothesis import HealthCheck, Phase, __version__, given, settings
from hypothesis import seed as seeded
from hypothesis.internal.conjecture import providers

from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.model.case import Case
from streamconform.model.cassette import Authored, Cassette
from streamconform.model.trial import DELIVERY_SETS, AnyTrial, Trial
from streamconform.resources import find_bundled
from streamconform.suite import cassettes, expectation
from streamconform.suite.expand import expand
from streamconform_capture.fuzz.answers import Answer, answers
from streamconform_capture.fuzz.writers import WRITERS, express, write_body
from streamconform_capture.record import draft

TOPIC: Final = "fuzz"
_MODEL: Final = "unnamed"
"""The model of an answer if the request names none."""
PRIVATE_NAME: Final = "_get_local_constants"
"""The private function of hypothesis that `_no_local_constants` replaces; a test fails if it is renamed."""
_DELIVERIES: Final = 2
"""The number of deliveries per answer, in addition to one fault. More answers find more bugs than more
deliveries do.
"""


@dataclass(frozen=True, slots=True)
class Generator:
    """Makes the trials for one API; the same seed gives the same trials."""

    api: str
    seed: int

    def generate(self, count: int) -> Iterator[Trial]:
        """Yield the trials for `count` answers."""
        base = _load_request(self.api)
        for number, answer in enumerate(draw_answers(base, self.api, self.seed, count)):
            case = make_case(base, answer, f"{self.seed}-{number}")
            yield from self._choose_trials(case)

    def _choose_trials(self, case: Case) -> Sequence[Trial]:
        """Return a case's trials: a few of its deliveries, and one of its faults."""
        choice = random.Random(f"{self.seed}:{case.id}")  # noqa: S311 - a repeatable choice, not a secret
        of_case = partial(expand, (case,), input_mode="http", seed=self.seed)
        whole = _select_over_http(of_case(DELIVERY_SETS["standard"]))
        broken = _select_over_http(of_case((), faults="all"))
        return [
            *choice.sample(whole, min(_DELIVERIES, len(whole))),
            *choice.sample(broken, min(1, len(broken))),
        ]


def _select_over_http(trials: Iterable[AnyTrial]) -> list[Trial]:
    """Return the trials that every implementation can run; over a WebSocket, the events are the same."""
    return [trial for trial in trials if isinstance(trial, Trial) and trial.transport == "http"]


def draw_answers(base: Cassette, api: str, seed: int, count: int) -> list[Answer]:
    """Return `count` answers from the model that `base` requests; the same seed gives the same answers."""
    drawn: list[Answer] = []
    strategy = answers(model=base.model or _MODEL, call_name=APIS[api].smoke.call_name)
    # Drawing answers never fails, so hypothesis shrinks and stores nothing; `minimise` makes streams smaller.
    configure = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seeded(seed)
    @configure
    @given(strategy)
    def collect(answer: Answer) -> None:
        drawn.append(answer)

    with _no_local_constants():
        collect()
    return drawn[:count]


@contextmanager
def _no_local_constants() -> Iterator[None]:
    """Keep hypothesis from drawing constants that occur in the loaded modules.

    hypothesis reads them from the source of every loaded module that is not installed, so the same seed would
    give different answers in a checkout, in an installed package, and after a different command. There is no
    setting to prevent this.
    """
    read = getattr(providers, PRIVATE_NAME, None)
    if read is None:
        message = f"hypothesis {__version__} has no `{PRIVATE_NAME}`: answers depend on more than the seed"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        yield
        return
    none = type(read())()
    setattr(providers, PRIVATE_NAME, lambda: none)
    try:
        yield
    finally:
        setattr(providers, PRIVATE_NAME, read)


def make_case(base: Cassette, answer: Answer, name: str) -> Case:
    """Return the case for `answer`, with the request from `base`."""
    api = base.api
    body = write_body(api, answer)
    cassette = replace(
        base,
        name=f"{TOPIC}-{name}",
        body=body,
        marks=(),
        twin=None,
        provenance=Authored(
            source="https://github.com/streamconform/streamconform", note="made by `conform fuzz`"
        ),
    )
    fields: dict[str, Any] = draft.build_expect(express(api, answer), body)
    # The generated answer has no provider's own reason: the writer chose one that fits, and a library need
    # not expose it.
    if raw := fields["stop"].get("raw"):
        fields["stop"] = {**fields["stop"], "raw": {"any_of": [raw, None]}}
    return Case(
        id=f"{api}/{TOPIC}/{name}",
        api=api,
        title="A generated answer",
        cassette=cassette,
        expect=expectation.parse(fields),
        path="generated",
    )


def _load_request(api: str) -> Cassette:
    """Return a bundled recording whose request has a tool."""
    if api not in WRITERS:
        raise UsageError(f"no answers of `{api}` can be generated; available: {', '.join(WRITERS)}")
    return cassettes.load(find_bundled("cassettes"), api, APIS[api].smoke.call_cassette)
