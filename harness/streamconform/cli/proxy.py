"""`conform proxy`: a server that speaks one api to its clients, and asks an upstream in another."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click
from streamconform_proxy import ROUTES, Route

from streamconform.cli.server import LOOPBACK, base_url_of, key_of, must_be_private
from streamconform.errors import UsageError
from streamconform.run.exits import Exit

if TYPE_CHECKING:
    from streamconform_proxy.server import Proxy  # it imports aiohttp

CLIENTS: Final = tuple(dict.fromkeys(client for client, _ in ROUTES))
UPSTREAMS: Final = tuple(dict.fromkeys(upstream for _, upstream in ROUTES))
UNNAMED: Final = ""
"""Stands for the variable of a key that nobody named, and is the name of none."""


@click.command("proxy")
@click.option("--from", "client", required=True, type=click.Choice(CLIENTS), help="What clients speak.")
@click.option(
    "--to", "upstream", required=True, type=click.Choice(UPSTREAMS), help="What the upstream speaks."
)
@click.option("--upstream", "url", required=True, metavar="URL", help="The server to ask, without a path.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen. [default: any]")
@click.option("--expose", is_flag=True, help="Let --host be an address that other machines reach.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME|FROM=TO",
    help="Ask for this model, whatever clients ask for; or for TO where they ask for FROM. Repeatable.",
)
@click.option(
    "--key-env", metavar="VAR", help="Variable with the upstream's key. [default: the client's key goes on]"
)
@click.option("--max-streams", type=click.IntRange(min=1), default=256, show_default=True, help="At a time.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds that the upstream may be silent in an answer.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="Seconds that answers have to end when the proxy is stopped.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not show the requests.")
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Speak one api to clients, ask an upstream in another, until Ctrl-C.

    \b
    conform proxy --from anthropic-messages --to ollama-chat \\
        --upstream http://127.0.0.1:11434 --port 8089 --model qwen3:8b
    ANTHROPIC_BASE_URL=http://127.0.0.1:8089 my-client

    From anthropic-messages to ollama-chat or openai-chat, and from openai-chat to anthropic-messages. The
    first line on stdout begins with the address; a line for each request goes to stderr. Needs aiohttp:
    pip install 'streamconform[proxy]'.
    """
    try:
        import aiohttp  # noqa: F401 - asked for by its name, before anything of ours needs it
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise UsageError("`conform proxy` needs aiohttp; pip install 'streamconform[proxy]'") from None
    pair = (given["client"], given["upstream"])
    if pair not in ROUTES:
        known = "; ".join(f"--from {client} --to {upstream}" for client, upstream in ROUTES)
        raise UsageError(f"nothing translates from {pair[0]} to {pair[1]}; there is: {known}")
    url, host = base_url_of(given["url"], "--upstream")
    if not LOOPBACK.fullmatch(given["host"]) and not given["expose"]:
        raise UsageError(
            f"`--host {given['host']}` can be reached from other machines, and whoever reaches it asks the "
            "upstream; add --expose if that is what you want"
        )
    key = key_of(given["key_env"], UNNAMED)
    must_be_private(url, host, key)
    route = Route(client=pair[0], upstream=pair[1], models=_models(given["models"]), host=host, key=key)
    in_the_clear = urlsplit(url).scheme == "http" and not LOOPBACK.fullmatch(host)
    ctx.exit(asyncio.run(_serve(route, url, in_the_clear, given)))


async def _serve(route: Route, url: str, in_the_clear: bool, given: Mapping[str, Any]) -> int:  # noqa: FBT001
    """Serve until a signal says that it is enough; raises `UsageError` where the port cannot be had."""
    from streamconform_proxy.bounds import Bounds
    from streamconform_proxy.server import Proxy
    from streamconform_proxy.startup import banner
    from streamconform_proxy.upstream import Patience, Upstream

    told = asyncio.Semaphore(0)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.release)
    bounds = Bounds(streams=given["max_streams"], grace=given["grace"])
    async with Upstream(url, Patience(idle=given["timeout"])) as upstream:
        proxy = Proxy(
            route,
            upstream,
            host=given["host"],
            port=given["port"],
            pass_keys=not in_the_clear,
            bounds=bounds,
            say=(lambda _: None) if given["quiet"] else _log,
        )
        try:
            await proxy.start()
        except OSError as error:
            place = f"--host {given['host']} --port {given['port']}"
            raise UsageError(f"`{place}` cannot be listened at: {error.strerror or error}") from error
        try:
            for line in banner(proxy.url, route, url, keys=_keys(given, in_the_clear), bounds=bounds.words):
                click.echo(line)
            await told.acquire()
            return await _stop(proxy, told, bounds.grace)
        finally:
            await proxy.close()


async def _stop(proxy: Proxy, told: asyncio.Semaphore, grace: float) -> int:
    """Stop in order; a second signal ends it at once."""
    click.echo(f"stopping; answers have {grace:g} s to end, and none if told again", err=True)
    stopped = asyncio.ensure_future(proxy.stop())
    again = asyncio.ensure_future(told.acquire())
    await asyncio.wait({stopped, again}, return_when=asyncio.FIRST_COMPLETED)
    code = Exit.EXPECTED if stopped.done() else Exit.INTERRUPTED
    for task in (stopped, again):
        task.cancel()
    await asyncio.gather(stopped, again, return_exceptions=True)
    return code


def _models(given: tuple[str, ...]) -> dict[str, str]:
    """Return the upstream's names by the client's, `*` for all others."""
    names: dict[str, str] = {}
    for text in given:
        asked, mapped, name = text.rpartition("=")
        asked = asked if mapped else "*"
        if not (asked.strip() and name.strip()):
            raise UsageError(f"`--model {text}` is neither NAME nor FROM=TO")
        if asked in names:
            raise UsageError(
                f"`--model` says twice what stands for {'all' if asked == '*' else f'`{asked}`'}"
            )
        names[asked] = name
    return names


def _keys(given: Mapping[str, Any], in_the_clear: bool) -> str:  # noqa: FBT001 - two facts of the banner
    if given["key_env"]:
        return f"that of {given['key_env']} goes upstream"
    if in_the_clear:
        return "none goes upstream: it is another machine, and http"
    return "each client's own goes upstream"


def _log(line: str) -> None:
    click.echo(line, err=True)
