"""`conform check`: judge an outcome that was made elsewhere."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from streamconform.adapters import protocol
from streamconform.adapters.interface import Answer, Greeting, Observation, Output
from streamconform.cli import options
from streamconform.errors import SelectionError, UsageError
from streamconform.judge.judge import judge
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.trial import AnyTrial, Call
from streamconform.model.verdict import UNEXPECTED
from streamconform.reports.explanation import Explained, verdict
from streamconform.reports.style import Line, show
from streamconform.run.results import check_json
from streamconform.suite.expand import make_trial

SHAPE: Final = 'an outcome, or {"outcome": …, "events": […]}'


@click.command("check")
@click.argument("file", metavar="OUTCOME.json", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--case",
    "case_",
    required=True,
    metavar="CASE",
    help="What it is an outcome of; with @DELIVERY if need be.",
)
@click.option(
    "-c",
    "--capability",
    multiple=True,
    type=click.Choice(sorted(CAPABILITIES)),
    help="Judge only what this needs. Repeatable. [default: everything; events where there are any]",
)
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@options.sources_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    case_: str,
    capability: tuple[str, ...],
    strict: bool,  # noqa: FBT001 - click hands flags over so
    shape: str,
    **given: Any,
) -> None:
    """Judge the outcome in OUTCOME.json (- is stdin) as an answer to CASE.

    The file holds an outcome in the normal form, or an object with `outcome` and `events`; of a case without
    bytes, what its function returned. `conform serve` hands the streams to a client of yours.
    """
    chosen = options.settings(given)
    found = options.find_case(case_, chosen)
    trial = _trial(found, case_.partition("@")[2], chosen.get("seed", 0))
    answer = _answer(file, trial)
    events = isinstance(answer, Observation) and answer.events is not None
    claims = frozenset(each for each in CAPABILITIES if each in capability) or (
        CAPABILITIES - (frozenset() if events else {"events"})
    )
    judgement = judge(trial, answer, claims, lambda _: None)
    if shape == "json":
        checks = [check_json(each) for each in judgement.checks]
        told = {"id": trial.id, "verdict": judgement.verdict, "passed": judgement.passed, "checks": checks}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        explained = Explained(trial, file, Greeting(name=file, capabilities=claims), answer)
        show((Line(trial.id, "bold"), *verdict(explained)))
    failed = judgement.verdict in UNEXPECTED or (strict and judgement.verdict == "warn")
    ctx.exit(1 if failed else 0)


def _trial(case: AnyCase, name: str, seed: int) -> AnyTrial:
    if isinstance(case, Case):
        return make_trial(case, name or "recorded", seed)
    if isinstance(case, RoundTripCase):
        words = "is about requests, which only the server sees: `conform run` judges it"
        raise SelectionError(f"`{case.id}` {words}")
    if name:
        raise SelectionError(f"`{case.id}` has no `{name}`: a case without bytes is not delivered")
    return Call(case)


def _answer(file: str, trial: AnyTrial) -> Answer:
    """Return the answer in `file`; raises `UsageError` where there is none."""
    try:
        with click.open_file(file, "rb") as stream:
            data = stream.read(protocol.MAX_LINE + 1)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror}") from error
    if len(data) > protocol.MAX_LINE:
        raise UsageError(f"`{file}` is larger than {protocol.MAX_LINE} bytes, and no outcome is")
    if isinstance(trial, Call):
        return Output(_object(file, b'{"output":' + data + b"}")["output"])
    told = _object(file, data)
    return Observation(told["outcome"], told.get("events")) if "outcome" in told else Observation(told)


def _object(file: str, data: bytes) -> Any:
    try:
        return protocol.parsed(data)
    except protocol.ProtocolFault as fault:
        if fault.kind == "too-deep":
            raise UsageError(f"`{file}`: {fault.message}") from fault
        words = f"`{file}` is no JSON object in UTF-8: {protocol.shown(data)}"
        raise UsageError(f"{words}; it holds {SHAPE}") from fault
