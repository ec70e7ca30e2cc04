"""`conform finding IMPL CASE`: one file about a finding, ready for the library's issue tracker."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.cli import completion, options
from streamconform.errors import ReportError, UsageError
from streamconform.peers import environments

PREFIX = "peer:"


@click.command("finding")
@click.argument("impl", shell_complete=completion.complete_impls)
@click.argument("case", shell_complete=completion.complete_cases)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="[default: stdout]")
@click.option("--run/--no-run", default=True, help="Run the trial if the peer is installed. [default: run]")
def command(impl: str, case: str, output: str | None, *, run: bool) -> None:
    """Write an issue about a finding: IMPL's bug in CASE, and a program that reproduces it.

    IMPL is a peer; CASE is the id of a case or trial in its known failures. The program consists of a server
    that sends the complete stream and a call to the library, and does not need streamconform. If the peer is
    installed, the trial is run, and the differences are listed.

    \b
    conform finding peer:openai openai-chat/tolerance/ids-and-comments
    conform finding peer:openai ids-and-comments@as-is -o finding.md

    Exit codes: 0 written, 2 no such finding.
    """
    from streamconform.suite.catalog import read_catalog
    from streamconform.tools.finding.lookup import find_issue
    from streamconform.tools.finding.render import render

    if not impl.startswith(PREFIX):
        raise UsageError(f"`{impl}` is not a peer; findings exist only for peers, such as `peer:openai`")
    sources = options.find_sources({})
    peer = environments.find_peer(impl.removeprefix(PREFIX))
    text = render(find_issue(peer, case, read_catalog(sources), sources.specs, run=run))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise ReportError(f"cannot write `{output}`: {error.strerror or error}") from error
