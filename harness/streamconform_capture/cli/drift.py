"""`conform drift`: find fields and events that are new to the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from streamconform import reports
from streamconform.apis import APIS
from streamconform.cli import options
from streamconform.cli.server import check_key_is_private, parse_base_url, parse_headers, read_key
from streamconform.config import read_settings
from streamconform.errors import UsageError
from streamconform.printable import escape_line
from streamconform.run.exits import Exit
from streamconform.suite.selection import find_sources

from streamconform_capture.cli.corpus import cache_option
from streamconform_capture.compare import inputs
from streamconform_capture.corpus import cache
from streamconform_capture.corpus.sources import SOURCES
from streamconform_capture.drift.find import Drift, Stream, find_drift
from streamconform_capture.drift.known import collect_known
from streamconform_capture.drift.report import format_json, format_lines, format_markdown

if TYPE_CHECKING:
    from streamconform.suite.load import Sources

REPORTS: Final[Mapping[str, Callable[[Drift], str]]] = {"json": format_json, "markdown": format_markdown}
WIDTH: Final = 300


@click.command("drift")
@click.argument("target", metavar="FOLDER|NAME|URL")
@click.option("--api", multiple=True, metavar="API", help="Only this API; for a URL, the server's API.")
@click.option("--model", metavar="NAME", help="The model to request, if the argument is a URL.")
@options.server_options
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True)
@cache_option
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of recordings to read per API.")
@click.option(
    "--report",
    multiple=True,
    metavar="KIND=PATH",
    help="Also write a json or markdown report; a PATH of - means stdout.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the last line.")
@click.pass_context
def command(ctx: click.Context, /, target: str, quiet: bool, **arguments: Any) -> None:  # noqa: FBT001
    """Find fields, types, enum values and event orders that are new to the suite.

    \b
    conform drift recordings                                  a folder, as for `conform compare`
    conform drift mirascope                                   after `conform corpus pull mirascope`
    conform drift http://127.0.0.1:8080 --api openai-chat     the streams of a server; this costs tokens

    Each finding is listed with the number of streams, their dates and an example. Exit codes: 0 nothing new,
    1 something new, 2 usage or input error, 3 the server cannot be reached.
    """
    sources = find_sources(read_settings({}).selection)
    targets = [_parse_report(option) for option in arguments["report"]]
    drift = _ask_server(target, sources, arguments) if "://" in target else _read(target, sources, arguments)
    *details, summary = format_lines(drift)
    if not any(path == "-" for _, path in targets):
        for line in (summary,) if quiet else (*details, summary):
            click.echo(escape_line(line, WIDTH))
    for kind, path in targets:
        reports.write_text(path, REPORTS[kind](drift))
    ctx.exit(Exit.UNEXPECTED if drift.novelties else Exit.EXPECTED)


def _read(name: str, sources: Sources, arguments: Mapping[str, Any]) -> Drift:
    if name in SOURCES:
        path = cache.locate_recordings(cache.locate_root(arguments["where"]), SOURCES[name])
    else:
        path = Path(name)
    folder = inputs.read(str(path), arguments["api"], arguments["limit"])
    streams = [Stream(case.id, case.cassette) for case in folder.cases]
    known = {api: collect_known(sources, api) for api in {case.api for case in folder.cases}}
    return find_drift(streams, known, ((file.file, file.reason) for file in folder.unread))


def _ask_server(url: str, sources: Sources, arguments: Mapping[str, Any]) -> Drift:
    from streamconform_capture.drift.ask import ask
    from streamconform_capture.record.scenario_request import RequestSettings

    if len(arguments["api"]) != 1 or arguments["api"][0] not in APIS:
        raise UsageError(f"a URL needs the server's API: --api {'|'.join(APIS)}")
    (api,) = arguments["api"]
    base_url, host = parse_base_url(url, "URL")
    if arguments["model"] is None and APIS[api].endpoints.names_model:
        raise UsageError(f"the URL path of {api} contains the model; add --model NAME")
    key = read_key(arguments["key_env"], APIS[api].key.variable)
    check_key_is_private(base_url, host, key)
    settings = RequestSettings(
        api=api,
        model=arguments["model"] or "default",
        key=key,
        headers=parse_headers(arguments["headers"]),
    )
    answers = list(ask(base_url, settings, arguments["timeout"]))
    streams = [answer for answer in answers if isinstance(answer, Stream)]
    unread = [answer for answer in answers if not isinstance(answer, Stream)]
    return find_drift(streams, {api: collect_known(sources, api)}, unread)


def _parse_report(option: str) -> tuple[str, str]:
    kind, _, path = option.partition("=")
    if kind not in REPORTS or not path:
        kinds = " or ".join(f"`{name}`" for name in REPORTS)
        raise UsageError(f"`--report {option}`: expected KIND=PATH, where KIND is {kinds}")
    return kind, path
