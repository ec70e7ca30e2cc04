"""`conform smoke`: check an adapter before you blame the library."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any, Final

import click

from streamconform.adapters.build import run_build
from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.connect import connect_command as program_command
from streamconform.cli import commands, completion, options
from streamconform.config import read_settings
from streamconform.errors import UsageError
from streamconform.printable import escape_line
from streamconform.reports.style import StyledLine, print_lines
from streamconform.run.exits import Exit
from streamconform.smoke.checks import SmokeResult, has_no_problems, run_checks
from streamconform.smoke.conversation import hold_conversation
from streamconform.smoke.transcript import Transcript

DEFAULT_TIMEOUT: Final = 10.0
MAX_LINE: Final = 2000
"""Maximum characters to print per line."""


@click.command("smoke", cls=commands.ProgramCommand)
@click.argument("impl", required=False, shell_complete=completion.complete_impls)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Timeout per answer, in seconds. [default: 10]",
)
@options.start_timeout_option
@click.option("--format", "shape", type=commands.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    impl: str | None,
    timeout: float | None,
    start_timeout: float | None,
    shape: str,
) -> None:
    """Check the adapter IMPL before you blame the library.

    The adapter is started, greeted and sent a few small streams; every message is checked. Each line begins
    with `ok`, or with `FIX` and advice. Exit codes: 0 adapter OK, 1 something to fix, 3 the adapter cannot be
    started.

    \b
    conform smoke mypkg
    conform smoke -- ./my-parser --flag
    """
    settings = read_settings({"timeout": timeout, "start_timeout": start_timeout})
    connection = _make_connection(impl, commands.get_program(ctx), settings.impl)
    run_build(settings.build, (connection.impl,), options.print_note)
    transcript = hold_conversation(
        connection,
        settings.timeout or DEFAULT_TIMEOUT,
        settings.start_timeout,
        options.print_note,
    )
    results = run_checks(transcript)
    code = Exit.EXPECTED if has_no_problems(results) else Exit.UNEXPECTED
    if shape == "json":
        click.echo(json.dumps(_results_to_json(transcript, results, code), indent=1))
    else:
        print_lines(_list_lines(transcript, results))
    ctx.exit(code)


def _make_connection(impl: str | None, program: tuple[str, ...], configured: tuple[str, ...]) -> Connection:
    if program and impl:
        raise UsageError(f"both `{impl}` and a program after `--` are given; use one of them")
    if program:
        return program_command(program)
    impls = (impl,) if impl else configured
    if len(impls) != 1:
        config = ", ".join(f"`{name}`" for name in impls)
        raise UsageError(
            "name one implementation: `conform smoke mypkg`, or `conform smoke -- ./my-parser`"
            + (f"; the config file has {config}" if impls else "")
        )
    return connect(impls[0])


def _list_lines(transcript: Transcript, results: tuple[SmokeResult, ...]) -> Iterator[StyledLine]:
    info = transcript.implementation
    details = [str(info[key]) for key in ("name", "version", "language") if isinstance(info.get(key), str)]
    width = max(len(result.check) for result in results)
    lines = [f"{transcript.impl}" + (f" ({', '.join(details)})" if details else "")]
    for result in results:
        for message in result.messages:
            first, *rest = message.split("\n")
            lines.append(f"{result.mark:<4}  {result.check:<{width}}  {first}")
            lines += [" " * (width + 8) + line for line in rest]
    yield from (StyledLine(escape_line(line, MAX_LINE), hang=width + 8) for line in lines)
    yield StyledLine(escape_line(_format_last_line(transcript, results), MAX_LINE))


def _format_last_line(transcript: Transcript, results: tuple[SmokeResult, ...]) -> str:
    run = f"conform run -i {shlex.quote(transcript.impl)}"
    fixes = {result.check: len(result.messages) for result in results if result.mark == "FIX"}
    if not fixes and not transcript.steps:
        return "Nothing to fix, but nothing was tested: the adapter has no API or function to call"
    if not fixes:
        return f"Adapter OK. Next: {run}"
    line = f"{sum(fixes.values())} to fix"
    # The adapter passes every other check, so the wrong values may come from the library.
    if set(fixes) == {"reading"}:
        line += f"; if the adapter returns the library's result unchanged, the bug is in the library: {run}"
    return line


def _results_to_json(transcript: Transcript, results: tuple[SmokeResult, ...], code: Exit) -> dict[str, Any]:
    return {
        "impl": transcript.impl,
        "implementation": dict(transcript.implementation),
        "checks": [
            {
                "check": result.check,
                "mark": result.mark.lower(),
                "messages": list(result.messages),
            }
            for result in results
        ],
        "exit": int(code),
    }
