"""A client that raises on a broken stream and keeps nothing fails no `must`, except the provider's error."""

from __future__ import annotations

import pytest

from streamconform.adapters.interface import Observation
from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.judge.judge import check_answer
from streamconform.judge.match import matches_leaf
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import Case
from streamconform.model.result import Raised
from streamconform.model.trial import Trial
from streamconform.printable import escape_unprintable
from streamconform.suite.expand import expand

from ..bundled_suite import cases

EMPTY = {"status": "error", "content": [], "stop": {"reason": "error"}, "usage": None, "cost": None}
EMPTY |= {"model": None, "response_id": None}
"""What a client returns that drops everything, with each claimed group as null."""
ANSWERS = {
    "empty": Observation(EMPTY),
    "raised": Observation(RAISED_OUTCOME, raised=Raised("library.Error", "the stream ended early")),
}
CLAIMS = CAPABILITIES - {"events"}


@pytest.fixture(scope="module")
def broken():
    """Return the trials whose stream broke or failed, so that a client may raise: as written, and faults."""
    whole = [case for case in cases() if isinstance(case, Case)]
    trials = expand(whole, ["as-is"], "bytes", 0, "one")
    return [
        trial
        for trial in trials
        if isinstance(trial, Trial) and matches_leaf(trial.expect.fields["status"], "error")
    ]


def test_every_api_has_broken_streams(broken):
    assert len({trial.case.api for trial in broken}) == 9
    assert sum(trial.delivery == "as-is" for trial in broken) > 200


@pytest.mark.parametrize("name", ANSWERS)
def test_a_client_that_raises_and_keeps_nothing_fails_no_must_but_the_providers_error(name, broken):
    failed = {
        (trial.case.id, trial.delivery, check.path)
        for trial in broken
        for check in check_answer(trial, ANSWERS[name], CLAIMS).checks
        if check.verdict == "fail" and not check.path.startswith("error.")
    }
    assert failed == set()


def test_a_client_that_raises_with_the_providers_message_fails_no_must(broken):
    """The message is in the exception; its type and status are attributes that few clients have."""
    failed = set()
    for trial in broken:
        expected = trial.expect.fields.get("error.message")
        texts = getattr(expected, "values", (getattr(expected, "value", None),))
        message = next((text for text in texts if isinstance(text, str)), None)
        if message is None:
            continue
        # An adapter sends an exception's message as one line.
        raised = Raised("library.Error", f"Error code: 400 - {escape_unprintable(message)}")
        answer = Observation(RAISED_OUTCOME, raised=raised)
        checks = check_answer(trial, answer, CLAIMS).checks
        failed |= {(trial.case.id, check.path) for check in checks if check.verdict == "fail"}
    assert failed == set()
