"""`conform list`: list the cases that a run would judge."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import click
from msgspec import to_builtins

from streamconform.cli import commands, options
from streamconform.config import read_settings
from streamconform.model.case import AnyCase, BehaviorCase, Case, CaseHead, RoundTripCase
from streamconform.model.trial import AnyTrial, Behavior, RoundTrip, Trial
from streamconform.plural import format_count
from streamconform.reports.style import StyledLine, print_lines
from streamconform.suite.evidence import KINDS as EVIDENCE_KINDS
from streamconform.suite.evidence import Cited, list_cited
from streamconform.suite.provenance import KINDS, count_streams
from streamconform.suite.selection import find_sources, select_heads


@click.command("list")
@options.input_option
@options.selection_options
@options.last_failed_option
@options.sources_options
@click.option("--trials", is_flag=True, help="List trials instead of cases.")
@click.option("--provenance", is_flag=True, help="Count the suite's streams by API and provenance.")
@click.option(
    "--evidence",
    type=commands.Choice(["all", *EVIDENCE_KINDS]),
    is_flag=False,
    flag_value="all",
    metavar="[KIND]",
    help="List the facts and bug reports that the cases cite, with the number of these cases. KIND is "
    "documented (by a page), observed (in a recording) or reported (as a bug).",
)
@click.option("--format", "shape", type=commands.Choice(["text", "json"]), default="text", show_default=True)
def command(
    shape: str,
    evidence: str | None,
    *,
    trials: bool,
    provenance: bool,
    last_failed: bool,
    **arguments: Any,
) -> None:
    """List the cases that a run would judge, with their levels and titles."""
    settings = read_settings(arguments)
    if provenance:
        _print_provenance(count_streams(find_sources(settings.selection)), shape)
        return
    if evidence:
        selection, _ = options.select_for_run(settings, last_failed=last_failed)
        cases = {trial.case.id: trial.case for trial in selection.trials}
        cited = list_cited(find_sources(settings.selection).specs, cases.values())
        _print_evidence([each for each in cited if evidence in ("all", each.kind)], shape)
        return
    needs_trials = trials or last_failed or settings.selection.select or settings.selection.input
    if shape == "text" and not needs_trials:
        # Every case has the trial `as-is`, so no case needs to be expanded and no cassette needs to be read.
        _print_cases(select_heads(settings.selection))
        return
    selection, note = options.select_for_run(settings, last_failed=last_failed)
    trials_selected = selection.trials
    if note:
        click.echo(note, err=True)
    if shape == "json":
        click.echo(json.dumps(_cases_to_json(trials_selected), indent=1, ensure_ascii=False))
    elif trials:
        for trial in trials_selected:
            click.echo(f"{trial.id}  {trial.level}  {_describe_size(trial)}")
    else:
        _print_cases({trial.case.id: trial.case for trial in trials_selected}.values())


def _print_provenance(counts: Mapping[str, Mapping[str, int]], shape: str) -> None:
    if shape == "json":
        click.echo(json.dumps(counts, indent=1))
        return
    total = {kind: sum(of.get(kind, 0) for of in counts.values()) for kind in KINDS}
    kinds = [kind for kind, count in total.items() if count]
    rows = {**counts, "all": total}
    width = max(map(len, rows))
    click.echo(f"{'streams':<{width}}  {'  '.join(kinds)}")
    for name, of in rows.items():
        cells = "  ".join(f"{of.get(kind, 0):>{len(kind)},}" for kind in kinds)
        click.echo(f"{name:<{width}}  {cells}")
    for kind in kinds:
        click.echo(f"{kind}: {KINDS[kind]}")


def _print_evidence(cited: Collection[Cited], shape: str) -> None:
    if shape == "json":
        click.echo(json.dumps([asdict(each) for each in cited], indent=1, ensure_ascii=False))
        return
    kind = max((len(each.kind) for each in cited), default=0)
    name = max((len(each.name) for each in cited), default=0)
    print_lines(
        StyledLine(
            f"{each.kind:<{kind}}  {each.name:<{name}}  {len(each.cases):>5,}  {each.says or 'not found'}",
            hang=kind + name + 11,
        )
        for each in cited
    )
    click.echo(format_count(len(cited), "entry"), err=True)


def _print_cases(cases: Collection[CaseHead]) -> None:
    width = max((len(case.id) for case in cases), default=0)
    print_lines(
        StyledLine(f"{case.id:<{width}}  {case.level:<6}  {case.title}", hang=width + 10) for case in cases
    )
    click.echo(format_count(len(cases), "case"), err=True)


def _describe_size(trial: AnyTrial) -> str:
    match trial:
        case Trial(chunks=chunks):
            return format_count(len(chunks), "chunk")
        case RoundTrip(_, answers):
            counts = [len(answer.chunks) for answer in answers]
            return f"{', '.join(map(str, counts[:-1]))} and {format_count(counts[-1], 'chunk')}"
        case Behavior():
            return "script"
        case _:
            return "function call"


def _cases_to_json(trials: tuple[AnyTrial, ...]) -> list[dict[str, Any]]:
    deliveries: dict[str, list[str]] = {}
    cases: dict[str, AnyCase] = {}
    for trial in trials:
        cases[trial.case.id] = trial.case
        names = deliveries.setdefault(trial.case.id, [])
        names += [] if trial.delivery is None else [trial.delivery]
    return [
        {
            "id": case.id,
            "title": case.title,
            "level": case.level,
            "tags": sorted(case.tags),
            "evidence": case.evidence,
            "sources": case.sources,
            "guards": case.guards,
            **_subject_to_json(case),
            "deliveries": deliveries[case.id],
        }
        for case in cases.values()
    ]


def _subject_to_json(case: AnyCase) -> dict[str, Any]:
    """Return what the case tests: a cassette, a round trip, or a function with its input."""
    if isinstance(case, Case):
        return ({} if case.stream else {"kind": "document"}) | {
            "cassette": f"{case.api}/{case.cassette.name}",
            "provenance": case.cassette.provenance.kind,
        }
    if isinstance(case, RoundTripCase):
        names = [f"{case.api}/{answer.cassette.name}" for answer in case.answers]
        return {
            "kind": "round_trip",
            "cassettes": names,
            "conversation": case.conversation,
            "turns": to_builtins(case.turns),
        }
    if isinstance(case, BehaviorCase):
        return {
            "kind": "behavior",
            "cassettes": [f"{case.api}/{stream.cassette.name}" for stream in case.streams.values()],
            "control": to_builtins(case.control),
            "server": to_builtins(case.replies),
        }
    return {"kind": case.kind, "input": case.input}
