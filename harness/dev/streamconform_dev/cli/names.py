"""`conform dev names`: show which names of the providers' SDKs no case contains."""

from __future__ import annotations

import click

from streamconform.model.case import Case
from streamconform.plural import format_count
from streamconform.run.exits import Exit
from streamconform.suite.load import Sources, list_spec_files, load
from streamconform_dev.checkout import ROOT
from streamconform_dev.names.check import NamesReport, check_names, list_apis, read_reasons, read_sdk
from streamconform_dev.names.read import read_case_names


@click.command("names")
@click.option("--open", "show_open", is_flag=True, help="Also list the names for which a case is missing.")
@click.pass_context
def command(ctx: click.Context, /, show_open: bool) -> None:  # noqa: FBT001
    """Show how many names of the providers' SDKs are in a case: events, types, fields and enum values.

    Every other name has a reason in streamconform_dev/names/reasons.yaml, or is listed there as open.

    Exit code 1: a name has neither a case nor a reason, or a reason selects nothing.
    """
    reports = report_names()
    for report in reports:
        counts = f"{report.cased} in cases, {len(report.reasoned)} with a reason, {len(report.open)} open"
        total = format_count(report.total, "name")
        click.echo(f"{report.api:<20} {report.sdk:<22} {total}: {counts}, {len(report.missing)} missing")
        for title, items in (
            ("open", report.open if show_open else ()),
            ("missing", report.missing),
            ("selects nothing", report.needless),
        ):
            for item in items:
                click.echo(f"  {title}: {item}")
    is_complete = not any(report.missing or report.needless for report in reports)
    ctx.exit(Exit.EXPECTED if is_complete else Exit.UNEXPECTED)


def report_names() -> list[NamesReport]:
    """Return a report per API, for the suite of this checkout."""
    sources = Sources(ROOT / "specs", ROOT / "cassettes")
    loaded = load(sources, list_spec_files(sources.specs))
    cased = read_case_names(case for case in loaded if isinstance(case, Case))
    reasons = read_reasons()
    return [
        check_names(api, *read_sdk(api), frozenset(cased[api]), reasons.get(api, ())) for api in list_apis()
    ]
