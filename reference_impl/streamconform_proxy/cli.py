"""`conform proxy`: a server that translates between its clients' API and its upstream's API."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from streamconform.cli import commands
from streamconform.cli.server import check_key_is_private, parse_base_url, read_key
from streamconform.errors import UsageError
from streamconform.install import format_install
from streamconform.loopback import LOOPBACK
from streamconform.run.exits import Exit
from streamconform.system import calling_on_signals
from streamconform_proxy import ROUTES, Route

if TYPE_CHECKING:
    from streamconform_proxy.server import ProxyServer  # it imports aiohttp

CLIENTS: Final = tuple(dict.fromkeys(client for client, _ in ROUTES))
UPSTREAMS: Final = tuple(dict.fromkeys(upstream for _, upstream in ROUTES))
NO_VARIABLE: Final = ""
"""There is no default variable for the upstream's key: without --key-env, the clients' keys are passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """The options of the command, by the names that click passes."""

    client: str
    upstream: str
    url: str
    host: str
    port: int
    expose: bool
    models: tuple[str, ...]
    key_env: str | None
    max_streams: int
    timeout: float
    grace: float
    quiet: bool


@click.command("proxy")
@click.option("--from", "client", required=True, type=commands.Choice(CLIENTS), help="API of the clients.")
@click.option("--to", "upstream", required=True, type=commands.Choice(UPSTREAMS), help="API of the upstream.")
@click.option(
    "--upstream", "url", required=True, metavar="URL", help="URL of the upstream server, without a path."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on. [default: any free port]"
)
@click.option("--expose", is_flag=True, help="Allow a --host that other machines can reach.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME|FROM=TO",
    help="Model to request, whatever the client asks for; FROM=TO applies only to clients that ask for FROM. "
    "Repeatable.",
)
@click.option(
    "--key-env",
    metavar="VAR",
    help="Environment variable with the upstream's key. [default: the client's key is passed on]",
)
@click.option(
    "--max-streams",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Maximum number of concurrent streams.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Maximum time that the upstream may be silent during an answer, in seconds.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="Seconds to let answers in progress finish when the proxy is stopped.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not log requests.")
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Translate between two APIs, one for clients and one for the upstream, until Ctrl-C.

    \b
    conform proxy --from anthropic-messages --to ollama-chat \\
        --upstream http://127.0.0.1:11434 --port 8089 --model qwen3:8b
    ANTHROPIC_BASE_URL=http://127.0.0.1:8089 my-client

    The proxy translates from anthropic-messages to ollama-chat or openai-chat, and from openai-chat to
    anthropic-messages. The first line on stdout begins with the proxy's URL; each request is logged on
    stderr. Needs aiohttp, which the extra `proxy` installs. Exit codes: 0 stopped, 2 usage error, 130
    stopped before all answers finished.
    """
    given = ProxyOptions(**arguments)
    try:
        import aiohttp  # noqa: F401 - checked here, for a clear message
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise UsageError(f"`conform proxy` needs aiohttp; run `{format_install('proxy')}`") from None
    pair = (given.client, given.upstream)
    if pair not in ROUTES:
        known = "; ".join(f"--from {client} --to {upstream}" for client, upstream in ROUTES)
        raise UsageError(f"cannot translate from {pair[0]} to {pair[1]}; available: {known}")
    url, host = parse_base_url(given.url, "--upstream")
    if not LOOPBACK.fullmatch(given.host) and not given.expose:
        raise UsageError(
            f"`--host {given.host}` lets other machines use the upstream; add --expose to allow that"
        )
    key = read_key(given.key_env, NO_VARIABLE)
    check_key_is_private(url, host, key)
    route = Route(client=pair[0], upstream=pair[1], models=_parse_models(given.models), host=host, key=key)
    is_unencrypted = urlsplit(url).scheme == "http" and not LOOPBACK.fullmatch(host)
    ctx.exit(asyncio.run(_serve(route, url, is_unencrypted, given)))


async def _serve(route: Route, url: str, is_unencrypted: bool, given: ProxyOptions) -> int:  # noqa: FBT001
    """Serve until a signal arrives. Raises `UsageError` if the address cannot be used."""
    from streamconform_proxy.bounds import ProxyBounds
    from streamconform_proxy.server import ProxyServer
    from streamconform_proxy.startup import format_startup
    from streamconform_proxy.upstream import UpstreamClient, UpstreamTimeouts

    signals = asyncio.Semaphore(0)  # counts signals, because a second one ends the answers immediately
    bounds = ProxyBounds(streams=given.max_streams, grace=given.grace)
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(calling_on_signals(signals.release, signal.SIGINT, signal.SIGTERM))
        upstream = await stack.enter_async_context(UpstreamClient(url, UpstreamTimeouts(idle=given.timeout)))
        proxy = ProxyServer(
            route,
            upstream,
            host=given.host,
            port=given.port,
            # `check_key_is_private` checks the configured key; the clients' own keys must stay private too.
            pass_keys=not is_unencrypted,
            bounds=bounds,
            write_log=(lambda _: None) if given.quiet else _log,
        )
        try:
            await proxy.start()
        except OSError as error:
            address = f"--host {given.host} --port {given.port}"
            raise UsageError(f"cannot listen on `{address}`: {error.strerror or error}") from error
        try:
            for line in format_startup(
                proxy.url, route, url, keys=_describe_keys(given, is_unencrypted), bounds=bounds.summary
            ):
                click.echo(line)
            await signals.acquire()
            return await _stop(proxy, signals, bounds.grace)
        finally:
            await proxy.close()


async def _stop(proxy: ProxyServer, signals: asyncio.Semaphore, grace: float) -> int:
    """Stop after the answers in progress have finished, or immediately on a second signal."""
    click.echo(
        f"stopping: answers in progress have {grace:g} s to finish; interrupt again to stop now", err=True
    )
    stopped = asyncio.ensure_future(proxy.stop())
    second_signal = asyncio.ensure_future(signals.acquire())
    await asyncio.wait({stopped, second_signal}, return_when=asyncio.FIRST_COMPLETED)
    # Before the tasks are canceled, because a canceled task is done too.
    code = Exit.EXPECTED if stopped.done() else Exit.INTERRUPTED
    for task in (stopped, second_signal):
        task.cancel()
    await asyncio.gather(stopped, second_signal, return_exceptions=True)
    return code


def _parse_models(texts: tuple[str, ...]) -> dict[str, str]:
    """Map the client's models to the upstream's, with `*` for all others. Raises `UsageError`."""
    models: dict[str, str] = {}
    for text in texts:
        requested, equals, model = text.rpartition("=")
        requested = requested if equals else "*"
        if not (requested.strip() and model.strip()):
            raise UsageError(f"`--model {text}`: expected NAME or FROM=TO")
        if requested in models:
            clients = "all models" if requested == "*" else f"`{requested}`"
            raise UsageError(f"`--model` is given twice for {clients}")
        models[requested] = model
    return models


def _describe_keys(given: ProxyOptions, is_unencrypted: bool) -> str:  # noqa: FBT001
    if given.key_env:
        return f"the upstream gets the key in {given.key_env}"
    if is_unencrypted:
        return "the upstream gets no key: it is on another machine and is reached over unencrypted http"
    return "the upstream gets each client's own key"


def _log(line: str) -> None:
    click.echo(line, err=True)
