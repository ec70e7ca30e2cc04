"""`conform explain CASE`: the wire, what came of it, and what was expected, side by side."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import click

from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.interface import Answer, Greeting
from streamconform.adapters.program import Collateral, Program
from streamconform.cli import options
from streamconform.delivery.deliver import cut, deliver
from streamconform.errors import SelectionError
from streamconform.model.case import AnyCase, Case
from streamconform.model.trial import DELIVERIES, FAULTS, AnyTrial, Call, Trial
from streamconform.reports.explanation import Explained, explain
from streamconform.suite.expand import expand
from streamconform.suite.load import load
from streamconform.suite.select import find_case
from streamconform.wire.apis import framing, split


@click.command("explain")
@click.argument("case")
@click.option("-i", "--impl", metavar="IMPL", help="Whose answer to show. [default: reference]")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True)
@click.option("-v", "--verbose", count=True, help="Whole payloads, and the request.")
@options.sources_options
def command(case: str, impl: str | None, timeout: float, verbose: int, **given: Any) -> None:
    """Show CASE: every frame with offset and time, the events beside it, expected and actual.

    CASE is a case's id or the end of it; with `@DELIVERY` or `@FAULT.N` behind it the bytes are as that makes
    them. Of a case without bytes its input is shown.
    """
    chosen = options.settings(given)
    found = find_case(case, load(options.sources(chosen)))
    trial = _trial(found, case.partition("@")[2], chosen.get("seed", 0))
    connection = connect(impl or "reference")
    greeting, answer = asyncio.run(_ask(connection, trial, timeout))
    click.echo_via_pager(explain(Explained(trial, connection.impl, greeting, answer), verbose=bool(verbose)))


def _trial(case: AnyCase, name: str, seed: int) -> AnyTrial:
    if isinstance(case, Case):
        return _framewise(case, name or "recorded", seed)
    if name:
        raise SelectionError(f"`{case.id}` has no `{name}`: a case without bytes is not delivered")
    return Call(case)


def _framewise(case: Case, name: str, seed: int) -> Trial:
    """Return the trial with a chunk a frame, so that each event can stand beside the frame that made it."""
    trial = _fault(case, name) if name.partition(".")[0] in FAULTS else _delivery(case, name, seed)
    frames = split(framing(case.api, case.cassette.status, trial.body), trial.body)
    return replace(trial, chunks=cut(trial.body, (frame.end for frame in frames)))


def _delivery(case: Case, name: str, seed: int) -> Trial:
    if name not in DELIVERIES:
        raise SelectionError(
            f"no delivery `{name}`; known are {', '.join(DELIVERIES)}, and {', '.join(FAULTS)}"
        )
    framed = framing(case.api, case.cassette.status, case.cassette.body)
    return Trial(case, name, case.level, deliver(case.cassette, framed, name, f"{seed}:{case.id}"))


def _fault(case: Case, name: str) -> Trial:
    made = expand((case,), (), "bytes", 0, "all")
    trials = {each.delivery: each for each in made if isinstance(each, Trial)}
    if name not in trials:
        raise SelectionError(f"`{case.id}` has no fault `{name}`; it has {', '.join(trials) or 'none'}")
    return trials[name]


async def _ask(
    connection: Connection, trial: AnyTrial, seconds: float
) -> tuple[Greeting, Answer | Collateral]:
    program = Program(connection)
    try:
        greeting = await program.start()
        claims = greeting.claims(trial.case.api)
        return greeting, await program.ask(trial, seconds, events="events" in claims)
    finally:
        await program.stop()
