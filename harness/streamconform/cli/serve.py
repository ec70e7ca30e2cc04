"""`conform serve`: the replay server alone, to point a client at and to look at it with a debugger."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from typing import Any, Final

import click

from streamconform.apis import APIS
from streamconform.cli import options
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import Case
from streamconform.model.trial import DELIVERIES, FAULTS, Trial
from streamconform.replay.reply import Reply
from streamconform.replay.request import ReceivedRequest, ServerLimits
from streamconform.replay.server import ReplayServer
from streamconform.reports.words import counted, printable
from streamconform.suite.catalog import read_catalog
from streamconform.suite.expand import make_trial
from streamconform.suite.select import select_apis, select_ids

PATIENT: Final = ServerLimits(request_seconds=3600, idle_seconds=3600, stall_seconds=None)
"""Whoever steps through a client takes their time."""


@click.command("serve")
@click.option("-k", "--select", multiple=True, metavar="PATTERN", help="Only cases that match. Repeatable.")
@click.option("--api", multiple=True, type=click.Choice(list(APIS)), help="Only this api. Repeatable.")
@options.sources_options
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen. [default: any]")
@click.option(
    "--time-scale",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Send recorded chunks at their recorded times, this many times as slow; 0 is at once. [default: 0]",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not show the requests.")
def command(port: int, time_scale: float, quiet: bool, **given: Any) -> None:  # noqa: FBT001 - click's flags
    """Serve the recorded streams over HTTP, on this machine only, until Ctrl-C.

    Prints a line for each case: its base URL, and what a client posts to below it. `@NAME` behind the case
    hands the stream over in another way, or breaks it: `…/parallel-calls@bytewise`, `…@gzip`, `…@reset.5`.
    Requests are shown on stderr; `conform check` judges what came of them.
    """
    chosen = options.settings(given)
    catalog = read_catalog(options.sources(chosen))
    ids = select_apis(catalog.ids, chosen.get("api", ()))
    ids = select_ids(ids, tuple(chosen.get("select", ())), (*DELIVERIES, *FAULTS))
    cases = {case.id: case for case in catalog.load(ids) if isinstance(case, Case)}
    if not cases:
        raise SelectionError("no case with a stream is selected")

    def find(id_: str) -> Trial | str:
        return _found(id_, cases, chosen.get("seed", 0))

    watch = None if quiet else _shown
    server = ReplayServer(find, port=port, bounds=PATIENT, time_scale=time_scale, watch=watch)
    asyncio.run(_serve(server, port, cases))


async def _serve(server: ReplayServer, port: int, cases: Mapping[str, Case]) -> None:
    """Serve until a signal says that it is enough; raises `UsageError` where the port is taken."""
    enough = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, enough.set)
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(server)
        except OSError as error:
            raise UsageError(f"`--port {port}` cannot be listened on: {error.strerror}") from error
        for id_, case in cases.items():
            click.echo(f"{server.base_url(id_)}  POST {_path(case)}")
        words = "`conform list --trials --deliver full --input http` names what can stand behind @"
        click.echo(f"{counted(len(cases), 'case')}; {words}; Ctrl-C ends", err=True)
        await enough.wait()


def _path(case: Case) -> str:
    """Return what a client posts to: the path of the recording where it is a usual one."""
    path = case.cassette.request.path
    return path if APIS[case.api].endpoints.names_model else path.partition("?")[0]


def _found(id_: str, cases: Mapping[str, Case], seed: int) -> Trial | str:
    name, _, delivery = id_.partition("@")
    if name not in cases:
        return f"there is no case `{name[:200]}` among those that are served"
    try:
        return make_trial(cases[name], delivery or "recorded", seed)
    except SelectionError as error:
        return str(error)


def _shown(id_: str, received: ReceivedRequest, reply: Reply) -> None:
    words = reply.note or reply.mismatch or ""
    said = f"{received.method} {received.target[:200]}  {received.size} bytes  {reply.status}  {id_}  {words}"
    click.echo(printable(said.rstrip(), 1000), err=True)
