"""`conform list`: the cases that a run would judge."""

from __future__ import annotations

import json
from typing import Any

import click

from streamconform.cli import options
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.trial import AnyTrial, RoundTrip, Trial


@click.command("list")
@options.input_option
@options.selection_options
@options.last_failed_option
@options.sources_options
@click.option("--trials", is_flag=True, help="Every trial, not every case.")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(shape: str, trials: bool, **given: Any) -> None:  # noqa: FBT001 - click hands flags over so
    """List the cases that a run would judge, with level and title."""
    chosen = {"input": "bytes"} | options.settings(given)
    if shape == "text" and not (trials or chosen.get("select") or chosen.get("last_failed")):
        # every case has a trial as recorded, so nothing else needs to be made to list the cases
        chosen |= {"deliver": "fast", "faults": "none"}
    found, note = options.rerun(chosen)
    selected = found.trials
    if note:
        click.echo(note, err=True)
    if shape == "json":
        click.echo(json.dumps(_json(selected), indent=1, ensure_ascii=False))
    elif trials:
        for trial in selected:
            click.echo(f"{trial.id}  {trial.level}  {_size(trial)}")
    else:
        cases = list({trial.case.id: trial.case for trial in selected}.values())
        width = max((len(case.id) for case in cases), default=0)
        for case in cases:
            click.echo(f"{case.id:<{width}}  {case.level:<6}  {case.title}")
        click.echo(f"{len(cases)} cases", err=True)


def _size(trial: AnyTrial) -> str:
    match trial:
        case Trial(chunks=chunks):
            return f"{len(chunks)} chunks"
        case RoundTrip(_, first, second):
            return f"{len(first.chunks)} and {len(second.chunks)} chunks"
        case _:
            return "a call"


def _json(selected: tuple[AnyTrial, ...]) -> list[dict[str, Any]]:
    deliveries: dict[str, list[str]] = {}
    cases: dict[str, AnyCase] = {}
    for trial in selected:
        cases[trial.case.id] = trial.case
        named = deliveries.setdefault(trial.case.id, [])
        named += [] if trial.delivery is None else [trial.delivery]
    return [
        {
            "id": case.id,
            "title": case.title,
            "level": case.level,
            "tags": sorted(case.tags),
            "sources": case.sources,
            "guards": case.guards,
            **_about(case),
            "deliveries": deliveries[case.id],
        }
        for case in cases.values()
    ]


def _about(case: AnyCase) -> dict[str, Any]:
    """Return what an expectation is about: a cassette, or the input of a function."""
    if isinstance(case, Case):
        return {
            "cassette": f"{case.api}/{case.cassette.name}",
            "provenance": case.cassette.provenance.kind,
        }
    if isinstance(case, RoundTripCase):
        names = [f"{case.api}/{each.cassette.name}" for each in (case.first, case.second)]
        told = {"conversation": case.conversation, "results": case.results}
        return {"kind": "round_trip", "cassettes": names, **told}
    return {"kind": case.kind, "input": case.input}
