"""`conform check`: judge an outcome from a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import click

from streamconform.adapters import protocol
from streamconform.adapters.interface import Answer, Greeting, Observation, Output
from streamconform.cli import commands, options
from streamconform.config import read_settings
from streamconform.errors import SelectionError, UsageError
from streamconform.judge.judge import judge
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.trial import AS_IS, AnyTrial, Call
from streamconform.model.verdict import UNEXPECTED
from streamconform.reports.explanation import ExplainedTrial, explain_verdict
from streamconform.reports.style import StyledLine, print_lines
from streamconform.run.exits import Exit
from streamconform.run.results import check_to_json
from streamconform.suite.expand import make_trial
from streamconform.suite.selection import find_case

SHAPE: Final = 'an outcome, or {"outcome": …, "events": […], "raised": {…}}'


@click.command("check")
@click.argument("file", metavar="OUTCOME.json", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--case",
    "case_",
    required=True,
    metavar="CASE",
    help="The case that produced the outcome; add @DELIVERY if the delivery was not `as-is`.",
)
@click.option(
    "-c",
    "--capability",
    multiple=True,
    type=commands.Choice(sorted(CAPABILITIES)),
    help="Judge only the values of this capability. Repeatable. [default: all, including events if there are"
    " any]",
)
@click.option("--strict", is_flag=True, help="Treat warnings as failures.")
@click.option("--format", "shape", type=commands.Choice(["text", "json"]), default="text", show_default=True)
@options.sources_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    case_: str,
    capability: tuple[str, ...],
    strict: bool,  # noqa: FBT001 - click passes flags like this
    shape: str,
    **arguments: Any,
) -> None:
    """Judge the outcome in OUTCOME.json (- is stdin) as an answer to CASE.

    The file contains an outcome in the normal form, or an object with `outcome`, `events` and `raised` as in
    a protocol result. For a case that tests a function, it contains the function's output. `conform serve`
    serves the streams to your client. Exit codes: 0 passed, 1 failed, 2 usage or input error.
    """
    settings = read_settings(arguments)
    case = find_case(case_, settings.selection)
    trial = _make_trial(case, case_.partition("@")[2], settings.selection.seed)
    answer = _read_answer(file, trial)
    has_events = isinstance(answer, Observation) and answer.events is not None
    # An outcome without events does not claim them; otherwise, their absence would be a failure.
    claims = frozenset(name for name in CAPABILITIES if name in capability) or (
        CAPABILITIES - (frozenset() if has_events else {"events"})
    )
    judgement = judge(trial, answer, claims, lambda _: None)
    if shape == "json":
        document = {
            "id": trial.id,
            "verdict": judgement.verdict,
            "passed": judgement.passed,
            "checks": [check_to_json(check) for check in judgement.checks],
        }
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        explained = ExplainedTrial(trial, file, Greeting(name=file, capabilities=claims), answer)
        print_lines((StyledLine(trial.id, "bold"), *explain_verdict(explained)))
    failed = judgement.verdict in UNEXPECTED or (strict and judgement.verdict == "warn")
    ctx.exit(Exit.UNEXPECTED if failed else Exit.EXPECTED)


def _make_trial(case: AnyCase, name: str, seed: int) -> AnyTrial:
    if isinstance(case, Case):
        return make_trial(case, name or AS_IS, seed)
    if isinstance(case, RoundTripCase):
        raise SelectionError(
            f"`{case.id}` tests requests, which only a server sees; use `conform run` to judge it"
        )
    if name:
        raise SelectionError(f"`{case.id}` has no delivery `{name}`: it tests a function, not a stream")
    return Call(case)


def _read_answer(file: str, trial: AnyTrial) -> Answer:
    """Return the answer in `file`. Raises `UsageError` if the file contains no answer."""
    try:
        with click.open_file(file, "rb") as stream:
            # One byte more than the limit, so that a larger file is recognized without reading all of it.
            data = stream.read(protocol.MAX_LINE + 1)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror}") from error
    if len(data) > protocol.MAX_LINE:
        raise UsageError(f"`{file}` is larger than {protocol.MAX_LINE:,} bytes, the limit for an outcome")
    if isinstance(trial, Call):
        return Output(_parse(file, data, protocol.parse_value, "a JSON value", "the function's output"))
    document = _parse(file, data, protocol.parse_object, "a JSON object", SHAPE)
    raised = protocol.parse_raised(document.get("raised"))
    if "outcome" in document:
        return Observation(document["outcome"], document.get("events"), raised=raised)
    if raised is not None:
        return Observation(protocol.RAISED_OUTCOME, raised=raised)
    return Observation(document)


def _parse(file: str, data: bytes, parse: Callable[[bytes], Any], kind: str, expected: str) -> Any:
    try:
        return parse(data)
    except protocol.ProtocolError as fault:
        if fault.kind == "too-deep":
            raise UsageError(f"`{file}`: {fault.message}") from fault
        raise UsageError(
            f"`{file}` is not {kind} in UTF-8: {protocol.quote_line(data)}; expected {expected}"
        ) from fault
