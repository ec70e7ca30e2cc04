"""`conform serve`: run only the replay server, to debug a client against it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from typing import Any, Final

import click

from streamconform.apis import APIS
from streamconform.cli import commands, options
from streamconform.cli.serve_files import write_files
from streamconform.config import read_settings
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import Case
from streamconform.model.trial import AS_IS, DELIVERIES, FAULTS, Trial
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.replay.formats import FORMATS
from streamconform.replay.index_page import ServedCase, make_index_reply
from streamconform.replay.reply import Reply
from streamconform.replay.request import ReceivedRequest, ServerLimits
from streamconform.replay.server import ReplayServer, WatchRequest
from streamconform.suite.catalog import read_catalog
from streamconform.suite.expand import make_trial
from streamconform.suite.select import select_apis, select_ids
from streamconform.suite.selection import find_sources
from streamconform.system import calling_on_signals, raise_file_limit

LIMITS: Final = ServerLimits(connections=2048, request_seconds=3600, idle_seconds=3600, stall_seconds=None)
"""Limits that allow a client to pause in a debugger, and to be tested under load."""
OTHER_FILES: Final = 64
"""The number of files that the command itself may open, in addition to connections."""


@click.command("serve")
@click.option("-k", "--select", multiple=True, metavar="PATTERN", help="Only cases that match. Repeatable.")
@click.option("--api", multiple=True, type=commands.Choice(list(APIS)), help="Only this API. Repeatable.")
@options.sources_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on. [default: any free port]"
)
@click.option(
    "--time-scale",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Send chunks at their recorded times multiplied by this factor; 0 sends all at once. [default: 0]",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not log requests.")
@click.option(
    "--to",
    "form",
    type=commands.Choice(list(FORMATS)),
    help="Instead of serving, write files for other tools that replay streams, in this format.",
)
@click.option(
    "--out", default=".", show_default=True, metavar="FOLDER", help="With --to: the folder to write to."
)
@click.option(
    "--base-url",
    metavar="URL",
    help="With --to: the base URL of the requests in har and vcr files. [default: the provider's]",
)
def command(
    port: int,
    time_scale: float,
    form: str | None,
    out: str,
    base_url: str | None,
    *,
    quiet: bool,
    **arguments: Any,
) -> None:
    """Serve the recorded streams over HTTP, on this machine only, until Ctrl-C.

    \b
    conform serve -k parallel-calls                                 a server for your client
    conform serve -k 'openai-chat/**' --to vcr --out tests/tapes    files for vcrpy

    Prints the base URL and the path of each case; the server's root page lists them. For a different delivery
    or a fault, add `@NAME` to the case: `…/parallel-calls@bytewise`, `…@gzip`, `…@reset.5`. Requests are
    logged on stderr; `conform explain CASE --outcome FILE` judges your client's outcome.

    With --to, raw is the body alone, and jsonl its payloads; har and vcr also include the request. No file is
    overwritten.
    """
    settings = read_settings(arguments).selection
    catalog = read_catalog(find_sources(settings))
    ids = select_apis(catalog.ids, settings.api)
    ids = select_ids(ids, settings.select, (*DELIVERIES, *FAULTS))
    selected = catalog.load(ids)
    if form is not None:
        write_files(selected, form, out, base_url)
        return
    cases = {case.id: case for case in selected if isinstance(case, Case)}
    if not cases:
        raise SelectionError("no case with a stream is selected")

    raise_file_limit(LIMITS.connections + OTHER_FILES)
    watch = None if quiet else _log_request
    asyncio.run(_serve(_make_server(cases, settings.seed, port, time_scale, watch), port, cases))


def _make_server(
    cases: Mapping[str, Case], seed: int, port: int, time_scale: float, watch: WatchRequest | None
) -> ReplayServer:
    def find_trial(id_: str) -> Trial | str:
        return _find_trial(id_, cases, seed)

    def make_index() -> Reply:
        return make_index_reply(
            ServedCase(
                id_, case.title, server.base_url(id_, case.cassette.transport), _describe_request(case)
            )
            for id_, case in cases.items()
        )

    server = ReplayServer(
        find_trial,
        port=port,
        bounds=LIMITS,
        time_scale=time_scale,
        watch=watch,
        make_index=make_index,
    )
    return server


async def _serve(server: ReplayServer, port: int, cases: Mapping[str, Case]) -> None:
    """Serve until a signal arrives. Raises `UsageError` if the port cannot be used."""
    stopped = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(calling_on_signals(stopped.set, signal.SIGINT, signal.SIGTERM))
        try:
            await stack.enter_async_context(server)
        except OSError as error:
            raise UsageError(f"cannot listen on `--port {port}`: {error.strerror}") from error
        for id_, case in cases.items():
            click.echo(f"{server.base_url(id_, case.cassette.transport)}  {_describe_request(case)}")
        hint = "`conform list --trials --deliver full --input http` lists the names to use after @"
        served = f"{format_count(len(cases), 'case')}, listed at {server.url}/"
        click.echo(f"{served}; {hint}; stop with Ctrl-C", err=True)
        await stopped.wait()


def _describe_request(case: Case) -> str:
    """Return the method and the path of a client's request."""
    request = case.cassette.request
    # If the path contains the model, its query may select streaming; otherwise the query does not matter.
    path = request.path if APIS[case.api].endpoints.names_model else request.path.partition("?")[0]
    return f"{'POST' if case.cassette.transport == 'http' else 'GET'} {path}"


def _find_trial(id_: str, cases: Mapping[str, Case], seed: int) -> Trial | str:
    name, _, delivery = id_.partition("@")
    if name not in cases:
        return f"no case `{name[:200]}` is served here"
    try:
        return make_trial(cases[name], delivery or AS_IS, seed)
    except SelectionError as error:
        return str(error)


def _log_request(id_: str, received: ReceivedRequest, reply: Reply) -> None:
    note = reply.note or reply.mismatch or ""
    request = f"{received.method} {received.target[:200]}  {received.size} bytes"
    click.echo(escape_line(f"{request}  {reply.status}  {id_}  {note}".rstrip(), 1000), err=True)
