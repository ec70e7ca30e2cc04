"""Searches over bundled cases, and what is written of them judged by an adapter in this process."""

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
from streamconform.tools.minimise.search import MinimiseJob, Search
from streamconform.tools.minimise.write import recipe, write

NOBODY_KNOWS = Greeting(name="in this process")


@cache
def cases(api):
    """The bundled cases of an api that have a stream, by id."""
    sources = Sources(find_bundled("specs"), find_bundled("cassettes"))
    loaded = collect(sources, sorted((sources.specs / api).glob("*.yaml")))
    assert not loaded.problems
    return {case.id: case for case in loaded.cases if isinstance(case, Case)}


def searched(name, impl, **options):
    """The search for the smallest stream of a case, `api/topic/id@delivery`."""
    id_, _, delivery = name.partition("@")
    trial = make_trial(cases(id_.partition("/")[0])[id_], delivery or "recorded", 0)
    search = Search(MinimiseJob(connect(impl), (trial,), **options))
    asyncio.run(search.run())
    return search


def written(folder, search):
    """The one case that is written of a search, read back."""
    place = write(folder, search, search.best, recipe(search, ""))
    (case,) = (each for each in load(Sources(folder / "specs", folder / "cassettes")) if each.id == place.id)
    return case


def verdicts(case, adapter, deliveries=("recorded",), faults="none"):
    """The verdicts on an adapter, which is called here and now."""
    claims = NOBODY_KNOWS.claims(case.api)
    return {
        trial.delivery: judge(trial, answer(adapter, trial), claims, lambda _: None).verdict
        for trial in expand((case,), deliveries, "bytes", 0, faults)
    }


def answer(adapter, trial):
    """What an adapter says to a trial."""
    cassette = trial.case.cassette
    fed = ReferenceInput(
        cassette.api, cassette.status, cassette.headers, trial.chunks, pricing=trial.case.pricing
    )
    *events, last = adapter(fed)
    return Observation(last["outcome"], events)
