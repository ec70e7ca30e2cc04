"""`conform probe`: judge the streams that a live server sends."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from streamconform import reports
from streamconform.apis import APIS
from streamconform.cli import commands, options
from streamconform.cli.known_failures import (
    check_update_options,
    known_failures_options,
    update_known_failures,
)
from streamconform.cli.report import make_page_contexts, write_reports
from streamconform.cli.server import SCHEMES, check_key_is_private, parse_base_url, parse_headers, read_key
from streamconform.errors import UsageError
from streamconform.known_failures.reading import KnownFailuresFile, KnownFailuresSettings, read_known_failures
from streamconform.model.cassette import Transport
from streamconform.reports.terminal import Terminal
from streamconform.run.run_folders import CONFORM, prepare_conform_folder
from streamconform.run.session import Progress
from streamconform.suite.catalog import read_catalog
from streamconform.suite.selection import SelectionSettings, find_sources

if TYPE_CHECKING:
    from streamconform_capture.probe.probe import ProbePlan

RESULTS: Final = CONFORM / "probe.jsonl"
"""Default path for the results: a separate file, so that `conform run`'s results are not overwritten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """The options of the command, by the names that click passes."""

    api: str
    model: str | None
    select: tuple[str, ...]
    headers: tuple[str, ...]
    key_env: str | None
    temperature: float | None
    timeout: float | None
    known_failures: tuple[str, ...]
    update: bool
    strict: bool
    exitfirst: bool
    maxfail: int | None
    report: tuple[str, ...]
    quiet: int
    verbose: int


@click.command("probe")
@click.argument("url")
@click.option("--api", required=True, type=commands.Choice(list(APIS)), help="The server's wire format.")
@click.option("--model", metavar="NAME", help="The model to request. [default: `default`]")
@click.option(
    "-k",
    "--select",
    multiple=True,
    metavar="PATTERN",
    help="Only questions that match: a glob on ids (* one component, ** any number), or a substring.",
)
@options.server_options
@click.option(
    "--temperature", type=click.FloatRange(min=0), help="Temperature to request. [default: the server's]"
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Timeout per answer, in seconds. [default: 60]",
)
@known_failures_options
@click.option("--strict", is_flag=True, help="Treat warnings (level should) as failures.")
@options.failure_limit_options
@click.option(
    "--report",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Also write a report: {', '.join(reports.REPORTS)} or jsonl; a PATH of - means stdout. Repeatable. "
    "Results are written to .conform/probe.jsonl, or to PATH with jsonl=PATH.",
)
@click.option("-q", "--quiet", count=True, help="Print only the last line; with -qq, nothing.")
@click.option("-v", "--verbose", count=True, help="Print every cause, with all its questions.")
@click.pass_context
def command(ctx: click.Context, /, url: str, **arguments: Any) -> None:
    """Judge the streams that a live server (a gateway, a proxy or an inference server) sends.

    \b
    conform probe http://127.0.0.1:8080 --api openai-chat --model my-model
    conform probe http://127.0.0.1:8080 --api anthropic-messages -k 'probe/**/tool-call'
    conform probe https://gateway.example --api openai-responses --key-env GATEWAY_KEY
    conform probe wss://gateway.example --api openai-responses --key-env GATEWAY_KEY

    Standard questions are sent one at a time, both with and without streaming. Every stream is checked
    against the API's grammar, as its provider documents it, and decoded by the reference parser; errors and
    token counts are judged too. With the URL of a WebSocket, the questions are asked there. The key is read
    from the environment and never stored. This costs tokens.
    Exit codes: as for `conform run`.
    """
    given = ProbeOptions(**arguments)
    # Slow to import, and not needed for `--help`.
    from streamconform_capture.probe.probe import run_probe

    started = time.perf_counter()
    report_targets = [reports.parse_option(option) for option in given.report]
    check_update_options(arguments, given.known_failures)
    plan, files = _make_plan(url, given, arguments)
    path = options.find_results_path(given.report)
    if path is None:
        path = RESULTS
        prepare_conform_folder()
    # A report on stdout is for a machine, so nothing else is printed there.
    quiet = 2 if any(target == "-" for _, target in report_targets) else given.quiet
    with Terminal(quiet=min(quiet, 1), verbose=given.verbose, strict=plan.strict) as terminal:
        finished = run_probe(plan, path, Progress(terminal.start, terminal.advance))
        if quiet < 2:
            terminal.finish(finished.results, time.perf_counter() - started)
    page_context = make_page_contexts(read_catalog(find_sources(SelectionSettings())), ())
    write_reports(report_targets, finished.results, page_context)
    if given.update:
        update_known_failures(files, finished, strict=plan.strict)
    ctx.exit(finished.exit)


def _make_plan(
    url: str, given: ProbeOptions, arguments: Mapping[str, Any]
) -> tuple[ProbePlan, tuple[KnownFailuresFile, ...]]:
    from streamconform_capture.probe.plan import find_unmatched, list_cases
    from streamconform_capture.probe.probe import ProbePlan
    from streamconform_capture.record.scenario_request import RequestSettings

    api = given.api
    base_url, host = parse_base_url(url, "URL", SCHEMES)
    transport: Transport = "websocket" if base_url.startswith("ws") else "http"
    if transport == "websocket" and APIS[api].sockets is None:
        with_sockets = ", ".join(name for name, each in APIS.items() if each.sockets is not None)
        raise UsageError(f"{api} has no WebSocket, only {with_sockets} has; use an http or https URL")
    if given.model is None and APIS[api].endpoints.names_model:
        raise UsageError(f"the URL path of {api} contains the model; add --model NAME")
    key = read_key(given.key_env, APIS[api].key.variable)
    check_key_is_private(base_url, host, key)
    # Every entry may be about the API that is probed: its questions are all of them.
    settings = KnownFailuresSettings(
        given.known_failures,
        SelectionSettings(select=given.select),
        strict=given.strict,
        narrowed=bool(given.select),
        update=given.update,
    )
    files = read_known_failures(settings, [base_url], lambda entries: find_unmatched(entries, api))
    plan = ProbePlan(
        base_url=base_url,
        request_settings=RequestSettings(
            api=api,
            model=given.model or "default",
            key=key,
            headers=parse_headers(given.headers),
            temperature=given.temperature,
        ),
        cases=list_cases(api, given.select, has_key=key is not None, transport=transport),
        timeout=given.timeout or 60.0,
        strict=given.strict,
        maxfail=options.get_failure_limit(exitfirst=given.exitfirst, maxfail=given.maxfail),
        command=_format_command(base_url, given),
        selection={name: arguments[name] or None for name in ("api", "model", "select", "known_failures")},
        known_failures=tuple(file.listed for file in files),
    )
    return plan, files


def _format_command(base_url: str, given: ProbeOptions) -> str:
    """Return the command that repeats the probe, without header values, which may be private."""
    parts = ["conform", "probe", base_url, "--api", given.api]
    for option, value in (
        ("--model", given.model),
        ("--key-env", given.key_env),
        ("--temperature", given.temperature),
    ):
        if value is not None:
            parts += [option, str(value)]
    for header in given.headers:
        parts += ["--header", f"{header.partition(':')[0].strip()}: …"]
    return shlex.join(parts)
