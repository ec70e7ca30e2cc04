"""A trial makes its bytes when they are needed, and the last few are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.delivery import plan
from streamconform.delivery.recent import Recent
from streamconform.delivery.stream import read_stream
from streamconform.model.trial import DELIVERIES
from streamconform.suite.expand import expand

from . import builders


def test_listing_the_trials_of_a_case_makes_no_bytes(monkeypatch):
    def refuse(*_):
        raise AssertionError("bytes are made")

    monkeypatch.setattr(plan, "_make", refuse)
    trials = list(expand([builders.case()], DELIVERIES, "http", 0, "all"))
    assert len(trials) > len(DELIVERIES)
    with pytest.raises(AssertionError, match="bytes are made"):
        _ = trials[0].chunks


def test_deliveries_that_only_cut_do_not_split_the_body_into_frames():
    case = builders.case()
    for trial in expand([case], ("whole", "bytewise", "utf8-split", "random"), "bytes", 0):
        assert trial.body == case.cassette.body
    assert not {"framing", "frames"} & vars(read_stream(case)).keys()


@pytest.mark.parametrize("name", ["whole", "unknown-field", "cut-after-frame.2"])
def test_the_bytes_of_a_trial_are_kept_unless_they_are_many(name, monkeypatch):
    for is_kept in True, False:
        if not is_kept:
            monkeypatch.setattr(plan, "MAX_BYTES", 0)
        case = builders.case()
        (trial,) = (each for each in expand([case], DELIVERIES, "http", 0, "all") if each.delivery == name)
        first = trial.plan.make(case, name)
        again = trial.plan.make(case, name)
        assert first == again
        assert (first is again) == is_kept
        assert (first.derived is not None) == name.startswith("cut")


def test_only_the_last_values_are_kept_and_an_equal_case_is_another():
    case, other = builders.case(), builders.case()
    assert case == other
    recent = Recent[str](2)
    assert recent.get(case, "a", lambda: "first") == "first"
    assert recent.get(case, "a", lambda: "again") == "first"
    assert recent.get(other, "a", lambda: "other") == "other"
    assert recent.get(case, "b", lambda: "third") == "third"
    assert recent.get(case, "a", lambda: "new") == "new"


def test_the_seed_decides_the_cuts_and_not_the_order_of_use():
    case = builders.case()
    one, two = (next(expand([case], ("random",), "bytes", seed)) for seed in (1, 2))
    assert one.chunks != two.chunks
    assert one.chunks == replace(one).chunks
