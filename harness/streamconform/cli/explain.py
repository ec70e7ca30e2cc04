"""`conform explain CASE`: the wire, what came of it, and what was expected, side by side."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.interface import Answer, Greeting
from streamconform.adapters.program import Collateral, Program
from streamconform.cli import options
from streamconform.delivery.deliver import cut, deliver
from streamconform.errors import SelectionError
from streamconform.model.case import Case
from streamconform.model.trial import DELIVERIES, Trial
from streamconform.reports.explanation import Explained, explain
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

    CASE is a case's id or the end of it; with `@DELIVERY` behind it the bytes are those of that delivery.
    """
    chosen = options.settings(given)
    found = find_case(case, load(options.sources(chosen)))
    trial = _framewise(found, case.partition("@")[2] or "recorded", chosen.get("seed", 0))
    connection = connect(impl or "reference")
    greeting, answer = asyncio.run(_ask(connection, trial, timeout))
    click.echo_via_pager(explain(Explained(trial, connection.impl, greeting, answer), verbose=bool(verbose)))


def _framewise(case: Case, delivery: str, seed: int) -> Trial:
    """Return the trial with a chunk a frame, so that each event can stand beside the frame that made it."""
    if delivery not in DELIVERIES:
        raise SelectionError(f"no delivery `{delivery}`; known are {', '.join(DELIVERIES)}")
    cassette = case.cassette
    framed = framing(case.api, cassette.status, cassette.body)
    body = b"".join(deliver(cassette, framed, delivery, f"{seed}:{case.id}"))
    frames = split(framing(case.api, cassette.status, body), body)
    return Trial(case, delivery, case.level, cut(body, (frame.end for frame in frames)))


async def _ask(connection: Connection, trial: Trial, seconds: float) -> tuple[Greeting, Answer | Collateral]:
    program = Program(connection)
    try:
        greeting = await program.start()
        claims = greeting.claims(trial.case.api)
        return greeting, await program.ask(trial, seconds, events="events" in claims)
    finally:
        await program.stop()
