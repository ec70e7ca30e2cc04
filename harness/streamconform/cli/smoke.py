"""`conform smoke`: is an adapter sane, before the library behind it is blamed."""

from __future__ import annotations

import json
import shlex
from typing import Any

import click

from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.connect import connect_command as program_command
from streamconform.cli import options
from streamconform.errors import UsageError
from streamconform.reports.words import printable
from streamconform.run.exits import Exit
from streamconform.tools.smoke.checks import Finding, examine, sane
from streamconform.tools.smoke.conversation import converse
from streamconform.tools.smoke.transcript import Transcript

DEFAULT_SECONDS = 10.0
MAX_LINE = 2000
"""Characters of a line that are printed."""


class Smoke(click.Command):
    """A command that keeps apart what stands behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the words behind `--` aside, and parse the others."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[__name__] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command("smoke", cls=Smoke)
@click.argument("impl", required=False)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one answer. [default: 10]"
)
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, impl: str | None, timeout: float | None, shape: str) -> None:
    """Check that the adapter IMPL is sane, before the library behind it is blamed.

    It is started, greeted and asked for a few small streams; every message is checked. Each line says `ok`,
    or `FIX` and what to do. Exit codes: 0 sane, 1 something to fix, 3 cannot be started.

    \b
    conform smoke mypkg
    conform smoke -- ./my-parser --flag
    """
    chosen = options.settings({"timeout": timeout})
    connection = _connection(impl, ctx.meta.get(__name__, ()), chosen)
    seen = converse(connection, float(chosen.get("timeout", DEFAULT_SECONDS)))
    findings = examine(seen)
    code = Exit.EXPECTED if sane(findings) else Exit.UNEXPECTED
    if shape == "json":
        click.echo(json.dumps(_json(seen, findings, code), indent=1))
    else:
        for line in _lines(seen, findings):
            click.echo(printable(line, MAX_LINE))
    ctx.exit(code)


def _connection(impl: str | None, program: tuple[str, ...], chosen: dict[str, Any]) -> Connection:
    if program and impl:
        raise UsageError(f"`{impl}` and a program behind `--`: give one of them")
    if program:
        return program_command(program)
    named = [impl] if impl else chosen.get("impl") or []
    if len(named) != 1:
        raise UsageError(
            "name one implementation: `conform smoke mypkg`, or `conform smoke -- ./my-parser`"
            + (f"; the config file has {', '.join(f'`{each}`' for each in named)}" if named else "")
        )
    return connect(named[0])


def _lines(seen: Transcript, findings: tuple[Finding, ...]) -> list[str]:
    who = seen.implementation
    told = [str(who[key]) for key in ("name", "version", "language") if isinstance(who.get(key), str)]
    width = max(len(finding.check) for finding in findings)
    lines = [f"{seen.impl}" + (f" ({', '.join(told)})" if told else "")]
    for finding in findings:
        for message in finding.messages:
            first, *more = message.split("\n")
            lines.append(f"{finding.mark:<4}  {finding.check:<{width}}  {first}")
            lines += [" " * (width + 8) + line for line in more]
    return [*lines, _last(seen, findings)]


def _last(seen: Transcript, findings: tuple[Finding, ...]) -> str:
    run = f"conform run -i {shlex.quote(seen.impl)}"
    fixes = {finding.check: len(finding.messages) for finding in findings if finding.mark == "FIX"}
    if not fixes and not seen.exchanges:
        return "nothing to fix, but nothing was asked either"
    if not fixes:
        return f"sane; next: {run}"
    told = f"{sum(fixes.values())} to fix"
    if set(fixes) == {"reading"}:
        told += f"; if the adapter hands over what the library says, it is the library: {run}"
    return told


def _json(seen: Transcript, findings: tuple[Finding, ...], code: Exit) -> dict[str, Any]:
    return {
        "impl": seen.impl,
        "implementation": dict(seen.implementation),
        "checks": [
            {"check": each.check, "mark": each.mark.lower(), "messages": list(each.messages)}
            for each in findings
        ],
        "exit": int(code),
    }
