"""`conform dev finding IMPL CASE`: write a finding as one file, ready for the library's issue tracker."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.cli import completion
from streamconform.errors import ReportError, UsageError
from streamconform_peers import environments

PREFIX = "peer:"


@click.command("finding")
@click.argument("impl", shell_complete=completion.complete_impls)
@click.argument("case", required=False, shell_complete=completion.complete_cases)
@click.option("--finding", "slug", metavar="SLUG", help="Finding to use, if CASE has several or is left out.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="[default: stdout]")
@click.option("--run/--no-run", default=True, help="Run the trial if the peer is installed. [default: run]")
def command(impl: str, case: str | None, slug: str | None, output: str | None, *, run: bool) -> None:
    """Write an issue about a finding: IMPL's bug in CASE, and a program that reproduces it.

    IMPL is a peer; CASE is the id of a case or trial in its known failures, and SLUG is the name of a finding
    in docs/matrix/findings.md. If CASE has several findings, they are listed; choose one with --finding.
    Without CASE, the finding's first case is used. The program does not need streamconform: it consists of a
    server, which sends the complete stream or prints the request, and a call to the library. If the peer is
    installed, the trial is run, and the differences are listed.

    \b
    conform dev finding peer:openai openai-chat/tolerance/ids-and-comments
    conform dev finding peer:openai ids-and-comments@as-is -o finding.md
    conform dev finding peer:litellm --finding missing-usage-is-estimated-and-parts-are-dropped

    Exit codes: 0 written, 2 no such finding, or CASE has several.
    """
    from streamconform.suite.catalog import read_catalog
    from streamconform.suite.selection import SelectionSettings, find_sources
    from streamconform_dev.finding.lookup import find_issue
    from streamconform_dev.finding.render import render

    if not impl.startswith(PREFIX):
        raise UsageError(f"`{impl}` is not a peer; findings exist only for peers, such as `peer:openai`")
    if case is None and slug is None:
        raise UsageError("name a case, or a finding with `--finding`")
    # The bundled suite, whatever the config says, because findings and known failures name its cases.
    sources = find_sources(SelectionSettings())
    peer = environments.find_peer(impl.removeprefix(PREFIX))
    catalog = read_catalog(sources)
    text = render(find_issue(peer, catalog, sources.specs, case=case, slug=slug, run=run))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise ReportError(f"cannot write `{output}`: {error.strerror or error}") from error
