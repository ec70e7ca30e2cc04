"""`conform dev names`: show which names of the providers' SDKs no case contains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from streamconform.model.case import Case, RoundTripCase
from streamconform.plural import format_count
from streamconform.run.exits import Exit
from streamconform.suite.lint_shapes import find_fields
from streamconform.suite.load import Sources, list_spec_files, load
from streamconform.suite.shapes import read_known
from streamconform_dev.checkout import ROOT
from streamconform_dev.names.check import NamesReport, check_names, list_apis, read_reasons, read_sdk
from streamconform_dev.names.read import read_case_names, read_type_names


@click.command("names")
@click.pass_context
def command(ctx: click.Context, /) -> None:
    """Show how many names of the providers' SDKs are in a case: events, types, fields and enum values.

    The names in the recordings that others publish count too, as far as specs/shapes lists them.

    Every other name has a reason in streamconform_dev/names/reasons.yaml.

    Exit code 1: a name has neither a case nor a reason, or a reason selects nothing.
    """
    reports = report_names()
    for report in reports:
        counts = f"{report.cased} in cases, {len(report.reasoned)} with a reason"
        total = format_count(report.total, "name")
        click.echo(f"{report.api:<20} {report.sdk:<22} {total}: {counts}, {len(report.missing)} missing")
        for title, items in (
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
    cased = read_case_names(_list_answers(load(sources, list_spec_files(sources.specs))))
    reasons = read_reasons()
    reports = []
    for api in list_apis():
        sdk, names = read_sdk(api)
        recorded = find_fields(read_known(sources.specs, api).origins)
        known = {**read_type_names(recorded), **names}
        reports.append(check_names(api, sdk, known, frozenset(cased[api]), reasons.get(api, ())))
    return reports


def _list_answers(cases: Iterable[object]) -> Iterator[Case]:
    """Yield the cases about one answer, those of round trips included."""
    for case in cases:
        if isinstance(case, Case):
            yield case
        elif isinstance(case, RoundTripCase):
            yield from case.answers
