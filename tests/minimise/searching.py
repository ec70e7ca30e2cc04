"""Minimise bundled cases, and judge the written result with an adapter in this process."""

from __future__ import annotations

import asyncio
from functools import cache

from streamconform.adapters.connect import connect
from streamconform.adapters.interface import Greeting, Observation
from streamconform.judge.judge import judge
from streamconform.model.case import Case
from streamconform.resources import find_bundled
from streamconform.run.blame import ReferenceInput
from streamconform.suite.expand import expand, make_trial
from streamconform.suite.load import Sources, collect, load
from streamconform_capture.minimise.search import MinimiseJob, Search
from streamconform_capture.minimise.write import format_command, write_result

GREETING = Greeting(name="in this process")


@cache
def load_cases(api):
    """Return the bundled stream cases of an API, by id."""
    sources = Sources(find_bundled("specs"), find_bundled("cassettes"))
    loaded = collect(sources, sorted((sources.specs / api).glob("*.yaml")))
    assert not loaded.problems
    return {case.id: case for case in loaded.cases if isinstance(case, Case)}


def run_search(name, impl, **options):
    """Return the finished search for the smallest stream of a case, `api/topic/id@delivery`."""
    id_, _, delivery = name.partition("@")
    trial = make_trial(load_cases(id_.partition("/")[0])[id_], delivery or "as-is", 0)
    search = Search(MinimiseJob(connect(impl), (trial,), **options))
    asyncio.run(search.run())
    return search


def write_case(folder, search):
    """Write the result of a search, and return its case as loaded from the files."""
    files = write_result(folder, search, search.best, format_command(search, ""))
    sources = Sources(folder / "specs", folder / "cassettes")
    (case,) = (case for case in load(sources) if case.id == files.id)
    return case


def judge_case(case, adapter, deliveries=("as-is",), faults="none"):
    """Return the verdicts on an adapter function by delivery."""
    claims = GREETING.claims(case.api)
    return {
        trial.delivery: judge(trial, run_adapter(adapter, trial), claims, lambda _: None).verdict
        for trial in expand((case,), deliveries, "bytes", 0, faults)
    }


def run_adapter(adapter, trial):
    """Return the observation of an adapter function for a trial."""
    cassette = trial.case.cassette
    run = ReferenceInput(cassette.api, trial.status, trial.headers, trial.chunks, pricing=trial.case.pricing)
    *events, last = adapter(run)
    return Observation(last["outcome"], events)
