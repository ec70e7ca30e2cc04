"""`conform explain CASE`: the wire, what came of it, and what was expected, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import replace
from typing import Any

import click

from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.program import Program
from streamconform.apis import APIS
from streamconform.cli import options
from streamconform.delivery.deliver import cut
from streamconform.errors import SelectionError
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.trial import AnyTrial, Call, RoundTrip, Trial
from streamconform.replay.server import ReplayServer
from streamconform.reports.explanation import Explained, explain
from streamconform.reports.style import drawn
from streamconform.run.dispatch import Asker
from streamconform.run.plan import divide
from streamconform.suite.expand import make_round_trip, make_trial
from streamconform.wire.framings import split


@click.command("explain")
@click.argument("case")
@click.option(
    "-i",
    "--impl",
    metavar="IMPL",
    help="Whose answer to show; forms as in `conform run`. [default: reference]",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True)
@click.option("-v", "--verbose", count=True, help="Whole payloads, and the request.")
@click.option("--pager/--no-pager", default=True, help="On a terminal: page. [default: pager]")
@options.sources_options
def command(case: str, impl: str | None, timeout: float, verbose: int, *, pager: bool, **given: Any) -> None:
    """Show CASE: every frame with offset and time, the events beside it, expected and actual.

    CASE is a case's id or the end of it; with `@DELIVERY` or `@FAULT.N` behind it the bytes are as that makes
    them. Of a case without bytes its input is shown.

    \b
    conform explain tool-use/parallel-calls                      what the reference makes of it
    conform explain tool-use/parallel-calls@crlf -i mypkg        yours, with every line end as CR LF
    conform explain heal/json-text -i mypkg --no-pager           of a function: its input and output

    Frames that decided what is wrong are marked with `>`, the first one at which live events depart from what
    the stream says with `!`. NO_COLOR is honoured. Exit codes: 0 it is shown, whatever the verdict, 2 usage
    or input, 3 implementation unusable.
    """
    chosen = options.settings(given)
    found = options.find_case(case, chosen)
    trial = _trial(found, case.partition("@")[2], chosen.get("seed", 0))
    explained = asyncio.run(_explained(connect(impl or "reference"), trial, timeout))
    text = drawn(explain(explained, verbose=bool(verbose)))
    if pager and sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False, color=True)  # it has colours only where they are wanted


def _trial(case: AnyCase, name: str, seed: int) -> AnyTrial:
    if isinstance(case, Case):
        return make_trial(case, name or "recorded", seed)
    if isinstance(case, RoundTripCase):
        return make_round_trip(case, name or "recorded", seed)
    if name:
        raise SelectionError(f"`{case.id}` has no `{name}`: a case without bytes is not delivered")
    return Call(case)


def _framewise(trial: AnyTrial) -> AnyTrial:
    """Return the trial with a chunk a frame, so that each event can stand beside the frame that made it."""
    if not isinstance(trial, Trial):
        return trial
    frames = split(APIS[trial.case.api].detect_framing(trial.case.cassette.status, trial.body), trial.body)
    return replace(trial, chunks=cut(trial.body, (frame.end for frame in frames)))


async def _explained(connection: Connection, trial: AnyTrial, seconds: float) -> Explained:
    """Ask for the trial as it is, and where its chunks are no frames for the frames one by one too."""
    program = Program(connection)
    try:
        greeting = await program.start()
        judged = divide(0, connection, greeting, (), "http" if isinstance(trial, RoundTrip) else None)
        async with ReplayServer() if judged.input == "http" else contextlib.nullcontext() as server:
            asker, by_frame = Asker(judged, lambda _: None, server), _framewise(trial)
            answer, exchange = await asker.ask(program, trial, seconds)
            beside = None
            if by_frame != trial and not program.dead:
                beside, _ = await asker.ask(program, by_frame, seconds)
        return Explained(judged.seen(trial), connection.impl, greeting, answer, beside, exchange)
    finally:
        await program.stop()
