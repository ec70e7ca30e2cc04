"""A resumed run takes over results from an interrupted one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from streamconform.adapters.interface import Errored, Hang, Observation, ProtocolFault, Skipped
from streamconform.judge.judge import judge
from streamconform.known_failures.match import CheckedPaths, Settler
from streamconform.known_failures.model import KnownFailure, KnownFailures
from streamconform.model.capability import CAPABILITIES
from streamconform.run.resume import unsettle

from . import builders

TRIAL = builders.trial()
WRONG = {**builders.TEXT_OUTCOME, "status": "incomplete"}


def make_result(answer, *, complaint=None):
    judgement = judge(TRIAL, answer, CAPABILITIES, lambda _: None)
    reason = "; ".join(text for text in (judgement.reason, complaint) if text) or None
    return builders.result(
        judgement.verdict,
        case=TRIAL.case.id,
        delivery=TRIAL.delivery,
        culprit=judgement.culprit,
        checks=judgement.checks,
        reason=reason,
    )


def settle(result, verdict):
    entry = KnownFailure(match=TRIAL.case.id, verdict=verdict, reason="a bug", issue="a/b#1")
    paths = CheckedPaths(frozenset(), frozenset())
    return Settler([KnownFailures("known.yaml", (entry,))], lambda _: paths, strict=False)(result)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Skipped("not supported"), "fail"),
        (Observation(WRONG), "fail"),
        (Observation({"status": 1}), "fail"),
        (Errored("ValueError: no"), "faulted"),
        (ProtocolFault("exited", "the program ended"), "faulted"),
        (Hang(10.0), "hang"),
    ],
)
@pytest.mark.parametrize("complaint", [None, "GET /: unknown path"])
def test_a_known_failure_gets_back_the_verdict_that_it_had(answer, verdict, complaint):
    result = make_result(answer, complaint=complaint)
    known = settle(result, verdict)
    assert (result.verdict, known.verdict) == (verdict, "known")
    assert unsettle(known) == result
    assert settle(unsettle(known), verdict) == known


NAMES = """
from streamconform.errors import UsageError
from streamconform.model.result import Header
from streamconform.run.resume import require_same_run

def header(value):
    names = ("select", "api", "deliver", "faults", "level", "profile")
    selection = {name: value for name in names}
    return Header(version="1", cases=1, trials=1, implementations=(), selection=selection, seed=0)

try:
    require_same_run(header("a"), header("b"))
except UsageError as error:
    print(error)
"""


def test_the_difference_that_an_error_names_does_not_depend_on_hashes():
    printed = {
        subprocess.run(
            [sys.executable, "-c", NAMES],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in range(5)
    }
    assert printed == {"cannot resume: `api` was `a` and is now `b`; start a new run without `--resume`\n"}
