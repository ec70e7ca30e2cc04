"""`conform explain CASE`: show the frames, their events, and the expected and actual values."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click

from streamconform.adapters.build import run_build
from streamconform.adapters.connect import Connection, connect_command
from streamconform.adapters.preflight import connect_startable
from streamconform.adapters.program import Program
from streamconform.apis import APIS
from streamconform.cli import commands, completion, options
from streamconform.cli.outcome_file import JudgedFile, judge_file
from streamconform.cli.server import add_proxy_headers
from streamconform.config import read_settings
from streamconform.delivery.deliver import cut
from streamconform.errors import SelectionError, UsageError
from streamconform.model.capability import CAPABILITIES, Capability
from streamconform.model.case import BehaviorCase, Case, RoundTripCase
from streamconform.model.trial import AS_IS, AnyTrial, Behavior, Call, Delivered, Trial, supported_inputs
from streamconform.replay.server import ReplayServer
from streamconform.reports.explanation import ExplainedTrial, explain, explain_verdict
from streamconform.reports.style import StyledLine, print_lines, render_lines
from streamconform.run.dispatch import Dispatcher
from streamconform.run.exits import Exit
from streamconform.run.plan import plan_implementation
from streamconform.suite.evidence import find_facts
from streamconform.suite.expand import make_round_trip, make_trial
from streamconform.suite.selection import SelectionSettings, find_case, find_sources
from streamconform.wire.framings import split


@click.command("explain", cls=commands.ProgramCommand)
@click.argument("case", shell_complete=completion.complete_cases)
@click.option(
    "-i",
    "--impl",
    shell_complete=completion.complete_impls,
    metavar="IMPL",
    help="Implementation to show, in the same forms as for `conform run`. [default: reference]",
)
@click.option(
    "--outcome",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Instead of running an implementation, judge the outcome in this JSON file; - is stdin.",
)
@click.option(
    "-c",
    "--capability",
    multiple=True,
    type=commands.Choice(sorted(CAPABILITIES)),
    help="With --outcome: judge only the values of this capability. Repeatable. [default: all, including"
    " events if there are any]",
)
@click.option("--strict", is_flag=True, help="With --outcome: treat warnings as failures.")
@click.option(
    "--format",
    "shape",
    type=commands.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="With --outcome: json prints the failed checks.",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True)
@options.start_timeout_option
@click.option("-v", "--verbose", count=True, help="Show payloads in full, and the request.")
@click.option("--pager/--no-pager", default=True, help="Use a pager on a terminal. [default: pager]")
@options.proxy_options
@options.sources_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    case: str,
    impl: str | None,
    file: str | None,
    capability: tuple[Capability, ...],
    timeout: float,
    verbose: int,
    *,
    strict: bool,
    shape: str,
    pager: bool,
    **arguments: Any,
) -> None:
    """Show CASE: every frame with its offset, time and events, and the expected and actual values.

    CASE is a case id or the end of one. Add `@DELIVERY` or `@FAULT.N` to use the bytes of that delivery or
    fault. For a case that tests a function, the function's input is shown.

    \b
    conform explain tool-use/parallel-calls                      with the bundled reference
    conform explain tool-use/parallel-calls@crlf -i mypkg        with your package, every line ending as CR LF
    conform explain tool-use/parallel-calls -- ./my-parser       with your program
    conform explain heal/json-text -i mypkg --no-pager           a function: its input and output
    conform explain text/plain-text --outcome mine.json          an outcome that was produced elsewhere

    `>` marks frames that are relevant to a failed check, and `!` marks the first wrong event. NO_COLOR is
    honored. Exit codes: 0 shown (whatever the verdict), 2 usage or input error, 3 implementation unusable.

    The file of --outcome contains an outcome in the normal form, or an object with `outcome`, `events` and
    `raised` as in a protocol result; for a function, its output. `conform serve` serves the streams to your
    client. Only the checks are shown, and with -v the frames too; the exit code is 1 if a check fails.
    """
    settings = read_settings(arguments)
    # Before the case is read, which takes a second.
    program = commands.get_program(ctx)
    if program and impl:
        raise UsageError(f"both `{impl}` and a program after `--` are given; use one of them")
    if file is not None:
        if program or impl:
            raise UsageError("--outcome judges a file; leave out the implementation")
        judged = judge_file(file, _find_trial(case, settings.selection), capability)
        ctx.exit(_show_file(judged, shape, strict=strict, verbose=bool(verbose)))
    _reject_outcome_options(ctx)
    run_build(settings.build, (connect_command(program).impl, impl or ""), options.print_note)
    connection = _connect(program, impl, arguments)
    trial = _find_trial(case, settings.selection)
    explained = asyncio.run(_run_trial(connection, trial, timeout, settings.start_timeout))
    facts = find_facts(find_sources(settings.selection).specs, (trial.case,)).get(trial.case.id, ())
    _show(explain(replace(explained, facts=facts), verbose=bool(verbose)), pager=pager)


def _reject_outcome_options(ctx: click.Context) -> None:
    """Raise `UsageError` for an option that only has an effect with `--outcome`."""
    for name in ("capability", "strict", "shape"):
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise UsageError(f"`--{name.replace('shape', 'format')}` needs --outcome")


def _connect(program: tuple[str, ...], impl: str | None, arguments: Mapping[str, Any]) -> Connection:
    connection = connect_command(program) if program else connect_startable(impl or "reference")
    return add_proxy_headers((connection,), arguments["headers"], arguments["key_env"])[0]


def _show(lines: Iterable[StyledLine], *, pager: bool) -> None:
    text = render_lines(lines)
    if pager and sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False, color=True)  # `text` has colors only if stdout wants them


def _show_file(judged: JudgedFile, shape: str, *, strict: bool, verbose: bool) -> Exit:
    if shape == "json":
        click.echo(judged.format_json())
    elif verbose:
        print_lines(explain(judged.explained, verbose=True))
    else:
        print_lines((StyledLine(judged.explained.trial.id, "bold"), *explain_verdict(judged.explained)))
    return judged.get_exit(strict=strict)


def _find_trial(id_: str, settings: SelectionSettings) -> AnyTrial:
    """Return the trial with an id, or with the end of one; without a delivery, its bytes are as recorded."""
    case, name, seed = find_case(id_, settings), id_.partition("@")[2], settings.seed
    if isinstance(case, Case):
        return make_trial(case, name or AS_IS, seed)
    if isinstance(case, RoundTripCase):
        return make_round_trip(case, name or AS_IS, seed)
    if name:
        raise SelectionError(f"`{case.id}` has no delivery `{name}`: it tests a function, not a stream")
    return Behavior(case) if isinstance(case, BehaviorCase) else Call(case)


def _split_by_frame(trial: AnyTrial) -> AnyTrial:
    """Return the trial with one chunk per frame, so that each event can be shown next to its frame."""
    if not isinstance(trial, Trial):
        return trial
    frames = split(APIS[trial.case.api].frame_case(trial.case, trial.body), trial.body)
    chunks = cut(trial.body, (frame.end for frame in frames))
    return replace(trial, plan=Delivered(chunks, trial.derived))


async def _run_trial(
    connection: Connection, trial: AnyTrial, seconds: float, start_timeout: float
) -> ExplainedTrial:
    """Run the trial; if its chunks are not whole frames, run it again with one chunk per frame.

    The verdict comes from the first run, because an implementation may fail only with this delivery's chunks.
    """
    program = Program(connection)
    try:
        greeting = await program.start(start_timeout, options.print_note)
        mode = next((mode for mode in greeting.inputs if mode in supported_inputs(trial)), None)
        if mode is None:
            needed = " or ".join(sorted(supported_inputs(trial)))
            raise SelectionError(f"`{trial.id}` needs an implementation whose input is {needed}")
        judged = plan_implementation(0, connection, greeting, (), mode)
        async with ReplayServer() if judged.input == "http" else contextlib.nullcontext() as server:
            asker, framewise_trial = Dispatcher(judged, lambda _: None, server), _split_by_frame(trial)
            answer, record = await asker.dispatch(program, trial, seconds)
            framewise_answer = None
            if framewise_trial != trial and not program.dead:
                framewise_answer, _ = await asker.dispatch(program, framewise_trial, seconds)
        return ExplainedTrial(
            judged.apply_proxy_view(trial), connection.impl, greeting, answer, framewise_answer, record
        )
    finally:
        await program.stop()
