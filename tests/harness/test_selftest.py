"""The self-test runs mutants in its own workers, with the same results as a run over the protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from streamconform.adapters.connect import connect
from streamconform.model.case import CallCase
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, VARIANTS, AnyTrial, Call, RoundTrip
from streamconform.resources import find_bundled
from streamconform.run.plan import Settings
from streamconform.run.session import Progress, RunRequest, execute_run
from streamconform.suite.expand import expand
from streamconform.suite.kinds import Cell
from streamconform.suite.threads import Thread, read_threads
from streamconform_dev.selftest.execute import make_group, run_groups
from streamconform_dev.selftest.groups import group_mutants
from streamconform_dev.selftest.kill import Expected, Unproven, find_idle_cases, find_unproven, make_matrix
from streamconform_dev.selftest.own_cases import Goal, Guarded, run_own_cases
from streamconform_dev.selftest.replay import fails_round_trip
from streamconform_dev.selftest.variants import (
    MAX_STREAMS,
    add_originals,
    choose_few,
    find_caught,
    list_variants,
)
from streamconform_mutants import MUTANTS
from streamconform_reference import adapter as reference

from .. import bundled_suite

API = "openai-chat"
PREFIXES = (f"{API}/usage/", f"{API}/tool-calls/index")
SECONDS = 10.0
CELL = Cell(API, "stream")


def stream_trials() -> tuple[AnyTrial, ...]:
    cases = [case for case in bundled_suite.streams() if case.id.startswith(PREFIXES)]
    return tuple(expand(cases, ("whole", "as-is"), "bytes", 0, "one"))


def heal_trials() -> tuple[AnyTrial, ...]:
    cases = [case for case in bundled_suite.cases() if isinstance(case, CallCase) and case.kind == "heal"]
    return tuple(Call(case) for case in cases[:5])


def run_one(adapter: Callable[[Any], Any], trials: tuple[AnyTrial, ...], seconds: float = SECONDS):
    return run_groups([make_group({"one": adapter}, trials)], 1, seconds)[0]


def essence(result: TrialResult) -> tuple[Any, ...]:
    return result.implementation, result.id, result.verdict, result.checks, result.guards, result.observation


@pytest.mark.slow
def test_the_results_are_those_of_a_run_whatever_the_number_of_workers(tmp_path):
    names = ("null-usage-erases", "missing-index-lost", "reused-index-merged")
    trials = stream_trials()
    silent = Progress(lambda _: None, lambda _: None)
    request = RunRequest(
        connections=tuple(connect(f"mutant:{name}") for name in names),
        trials=trials,
        settings=Settings(workers=1, timeout=SECONDS),
        selection={},
        blame=False,
    )
    run = execute_run(request, tmp_path / "results.jsonl", silent)
    group = make_group({name: MUTANTS[name].adapter for name in names}, trials)
    (found,), (again,) = (run_groups([group], workers, SECONDS) for workers in (1, 2))
    expected = [result for result in run.results.trials if result.verdict != "pass"]
    assert sorted(map(essence, found), key=repr) == sorted(map(essence, expected), key=repr)
    assert sorted(map(essence, again), key=repr) == sorted(map(essence, expected), key=repr)
    assert {result.implementation for result in found} == {0, 1, 2}
    table = {name: Expected(MUTANTS[name].fails, (CELL,)) for name in names}
    cells = {trial.case.id: CELL for trial in trials}
    assert make_matrix(found, table, cells) == make_matrix(run.results.trials, table, cells)
    idle = find_idle_cases(group.case_ids, found)
    assert idle == find_idle_cases([trial.case for trial in run.results.trials], run.results.trials)


def test_mutants_of_a_group_make_the_same_claims():
    """The claims of its first mutant decide what is judged: one without events would fail for each event."""
    one_of_each_api = {case.api: case for case in bundled_suite.streams()}
    trials = tuple(expand(one_of_each_api.values(), ("as-is",), "bytes", 0, "none"))
    groups = [*group_mutants(tuple(MUTANTS), trials)]
    assert any(len(group.adapters) > 1 for group in groups)
    for group in groups:
        assert len({tuple(sorted(adapter.capabilities)) for adapter in group.adapters.values()}) == 1


def test_a_right_parser_leaves_every_case_idle():
    group = make_group({"right": reference}, stream_trials())
    (found,) = run_groups([group], 1, SECONDS)
    assert found == []
    assert find_idle_cases(group.case_ids, found) == group.case_ids


def test_a_variant_proves_no_guard_and_leaves_its_case_idle():
    (case,) = (case for case in bundled_suite.streams() if case.id == f"{API}/tool-calls/parallel-calls")
    trials = tuple(expand([case], VARIANTS, "bytes", 0, "none"))
    (found,) = run_groups([make_group({"one": MUTANTS["indexes-from-zero"].adapter}, trials)], 1, SECONDS)
    assert [result.delivery for result in found] == ["indexes-from-one"]
    assert find_idle_cases([case.id], found) == (case.id,)


def test_a_variant_catches_only_mutants_that_read_the_stream_itself():
    (case,) = (case for case in bundled_suite.streams() if case.id == f"{API}/tool-calls/parallel-calls")
    names = ("indexes-from-zero", "last-call-only")
    trials = tuple(add_originals(expand([case], VARIANTS, "bytes", 0, "none"), 0))
    groups = [make_group({name: MUTANTS[name].adapter for name in names}, trials)]
    caught = find_caught(groups, run_groups(groups, 1, SECONDS))
    assert caught == {(API, "indexes-from-one"): {"indexes-from-zero"}}
    assert (API, "ids-repeated") in list_variants(trials)


def test_a_self_test_of_variants_takes_some_streams_of_each():
    trials = tuple(expand(bundled_suite.streams(), ("ids-repeated", "half-pairs"), "bytes", 0, "none"))
    chosen = [*choose_few(trials)]
    assert list_variants(chosen) == list_variants(trials)
    assert len(chosen) < len(trials) / 2
    assert len({trial.case.id.split("/")[1] for trial in chosen}) > MAX_STREAMS / 2


def test_a_case_whose_level_is_may_is_not_idle_if_a_mutant_differs_in_it():
    (case,) = (case for case in bundled_suite.streams() if case.id == f"{API}/think-tags/closer-cut")
    trials = tuple(expand([case], ("as-is",), "bytes", 0, "none"))
    group = make_group({"tags": MUTANTS["think-tags-expected"].adapter}, trials)
    (found,) = run_groups([group], 1, SECONDS)
    assert [result.verdict for result in found] == ["pass"]
    assert find_idle_cases(group.case_ids, found) == ()


@pytest.mark.slow
def test_a_parser_that_does_not_end_hangs_in_each_trial_and_spoils_no_other():
    def endless(_: Any) -> Iterator[Any]:
        time.sleep(600)
        yield {}

    group = make_group({"endless": endless, "right": reference}, stream_trials()[:3])
    (found,) = run_groups([group], 1, 5.0)
    assert [(result.implementation, result.verdict) for result in found] == [(0, "hang")] * 3
    expected = dict.fromkeys(("endless", "right"), Expected((), ()))
    assert make_matrix(found, expected, {})[0].faulted == 3


def test_a_mutant_that_is_not_caught_on_one_of_its_paths_survives():
    name = "null-usage-erases"
    trials, other = stream_trials(), Cell(API, "document")
    (found,) = run_groups([make_group({name: MUTANTS[name].adapter}, trials)], 1, SECONDS)
    cells = {trial.case.id: CELL for trial in trials}
    for expected, missed in (((CELL,), ()), ((CELL, other), (other,))):
        (row,) = make_matrix(found, {name: Expected(MUTANTS[name].fails, expected)}, cells)
        assert row.missed == missed
        assert row.killed == (not missed)


def test_a_parser_that_raises_is_reported():
    def broken(_: Any) -> Iterator[Any]:
        raise ValueError("broken")

    found = run_one(broken, stream_trials()[:2])
    assert len(found) == 2
    assert all(result.verdict != "pass" for result in found)


def test_a_function_that_changes_its_input_changes_it_for_no_other():
    def spoil(api: str | None, value: Any) -> Any:
        del api
        if isinstance(value, dict):
            value.clear()
        return {}

    def spoiler(_: Any) -> Iterator[Any]:
        yield {}

    def right(_: Any) -> Iterator[Any]:
        yield {}

    spoiler.heal, right.heal = spoil, reference.heal
    (found,) = run_groups([make_group({"spoiler": spoiler, "right": right}, heal_trials())], 1, SECONDS)
    assert {result.implementation for result in found} == {0}


def test_a_guard_is_proven_by_a_mutant_of_one_of_the_kinds_of_its_thread():
    (case,) = (case for case in bundled_suite.cases() if case.id == "ollama-chat/tool-use/index-always-zero")
    threads = {bug: Thread("It is lost.", "2026-11-22", ("calls-merged", "part-lost")) for bug in case.guards}
    unproven = tuple(Unproven(case.id, bug, ("calls-merged", "part-lost")) for bug in case.guards)
    assert unproven
    assert find_unproven([case], threads, {("part-lost", case.id)}) == ()
    for proofs in (set(), {("text-lost", case.id)}, {("part-lost", "ollama-chat/tool-use/one-call")}):
        assert find_unproven([case], threads, proofs) == unproven
    unknown = tuple(Unproven(case.id, bug, ()) for bug in case.guards)
    assert find_unproven([case], {}, {("part-lost", case.id)}) == unknown


@pytest.mark.slow
def test_own_cases_prove_what_all_cases_prove():
    names = ("null-usage-erases", "missing-index-lost", "reused-index-merged")
    trials = stream_trials()
    group = make_group({name: MUTANTS[name].adapter for name in names}, trials)
    threads = read_threads(find_bundled("specs"))
    kinds = {
        trial.case.id: {kind for bug in trial.case.guards for kind in threads[bug].kinds} for trial in trials
    }
    own = {
        (MUTANTS[name].kind, id_)
        for name in names
        for id_, of_case in kinds.items()
        if MUTANTS[name].kind in of_case
    }
    (every,) = run_groups([group], 1, SECONDS)
    goals = {name: Goal(MUTANTS[name].kind, (CELL,)) for name in names}
    cells = dict.fromkeys(kinds, CELL)
    (found,) = run_own_cases([group], goals, Guarded(kinds, cells), 1, SECONDS)
    assert prove(found, names) & own == prove(every, names) & own
    assert {*map(repr, map(essence, found))} <= {*map(repr, map(essence, every))}
    table = {name: Expected(MUTANTS[name].fails, (CELL,)) for name in names}
    assert all(row.killed for row in make_matrix(found, table, cells))
    assert own


def prove(results, names):
    return {(MUTANTS[names[result.implementation]].kind, result.case) for result in results}


def test_a_mutant_without_cases_of_its_own_runs_until_it_is_caught_where_it_should_be():
    name = "chunk-without-choice-fatal"
    trials, kind = stream_trials(), MUTANTS[name].kind
    group = make_group({name: MUTANTS[name].adapter}, trials)
    cases = Guarded({trial.case.id: () for trial in trials}, {trial.case.id: CELL for trial in trials})
    (every,) = run_groups([group], 1, SECONDS)
    (found,) = run_own_cases([group], {name: Goal(kind, (CELL,))}, cases, 1, SECONDS)
    (first,) = found
    assert first.verdict == "fail"
    assert essence(first) in [essence(result) for result in every]
    assert len({result.case for result in every}) > 1
    (none,) = run_own_cases([group], {name: Goal(kind, (Cell(API, "document"),))}, cases, 1, SECONDS)
    assert none == []


def test_a_difference_that_a_case_allows_is_a_result_but_catches_nothing():
    ids = ("anthropic-messages/text/delta-without-start",)
    trials = tuple(expand([case for case in bundled_suite.streams() if case.id in ids], (AS_IS,), "bytes", 0))
    name = "events-in-order-only"
    (found,) = run_groups([make_group({name: MUTANTS[name].adapter}, trials)], 1, SECONDS)
    assert [(result.case, result.verdict) for result in found] == [(ids[0], "pass")]
    (row,) = make_matrix(found, {name: Expected(MUTANTS[name].fails, ())}, {ids[0]: CELL})
    assert (row.cases, row.unexpected) == ((), ())


def round_trips() -> Iterator[RoundTrip]:
    cases = [
        case
        for case in bundled_suite.cases()
        if case.id.endswith("/round-trips/signed-and-redacted-thinking")
    ]
    return (trial for trial in expand(cases, (AS_IS,), "http", 0) if isinstance(trial, RoundTrip))


@pytest.mark.parametrize(
    ("adapter", "fails"),
    [
        (reference, False),
        (MUTANTS["stop-details-unread"].adapter, False),
        (MUTANTS["signatures-unread"].adapter, True),
        (MUTANTS["sent-signature-lost"].adapter, True),
    ],
)
def test_a_round_trip_is_failed_by_who_reads_or_sends_the_answer_wrongly(adapter, fails):
    (trial,) = round_trips()
    assert fails_round_trip(adapter, trial) == fails


def test_a_client_that_crashes_in_a_round_trip_fails_it():
    def broken(_: Any) -> Iterator[Any]:
        raise ValueError("broken")

    (trial,) = round_trips()
    assert fails_round_trip(broken, trial)
