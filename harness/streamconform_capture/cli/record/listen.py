"""`conform record listen`: record the traffic between any client and a server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from streamconform.apis import APIS
from streamconform.cli import commands
from streamconform.cli.server import SCHEMES, parse_base_url
from streamconform.conservation import Balance, require_balance
from streamconform.errors import UsageError
from streamconform.loopback import LOOPBACK
from streamconform.model.cassette import SWITCHED
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.run.exits import Exit
from streamconform.secrets.placeholders import NOT_REPLACED
from streamconform.suite.documents import is_document
from streamconform.system import calling_on_signals
from streamconform_capture.cli.record.saving import check_slug, read_save_settings, save_options
from streamconform_capture.record.exchange import Origin
from streamconform_capture.record.listen import RecordingProxy, Upstream
from streamconform_capture.record.listened import KeptExchange, ListenSettings, NotKept
from streamconform_capture.record.overheard import Overheard, Received
from streamconform_capture.record.sign import sign_again
from streamconform_capture.record.writing_process import WritingProcess

MAX_LINE: Final = 600
"""The maximum number of characters to print about one exchange."""
PATIENCE: Final = 1.5
"""The maximum time after Ctrl-C in which no exchange has been written."""


@click.command("listen", cls=commands.ProgramCommand)
@click.option("--upstream", metavar="URL", required=True, help="The server to forward to.")
@click.option(
    "--address",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="The address to listen on; port 0 means a free one.",
)
@click.option(
    "--name", default="overheard", help="Name of the cassettes and cases. [default: overheard-1, …]"
)
@save_options
@click.pass_context
def command(ctx: click.Context, /, upstream: str, address: str, name: str, **saving: Any) -> None:
    """Record the traffic between any client and a server, while a program runs or until Ctrl-C.

    \b
    conform record listen --upstream https://api.openai.com -- python my_agent.py

    The program runs with the environment variables from which SDKs read their base URL. Every exchange is
    saved, whatever its API; the same values are replaced as by `conform record`. The exit code is the
    program's, or 2 if an answer could not be saved or no answer arrived, or 4 if an answer was lost.
    """
    settings = read_save_settings(**saving)
    check_slug("--name", name)
    host, port = _parse_address(address)
    url, _ = parse_base_url(upstream, "--upstream", SCHEMES)
    # A client may open WebSockets and send requests to the same address, whatever its scheme.
    url = f"http{url.removeprefix('ws')}" if url.startswith("ws") else url
    listen_settings = ListenSettings(
        specs=settings.specs,
        folder=settings.folder,
        name=name,
        topic=settings.topic,
        origin=Origin(server=settings.server, base_url=url, note=settings.note),
        names=settings.scrubbed,
        allowed=settings.allowed,
    )
    process = WritingProcess(listen_settings)
    writer = _Writer(process.keep)
    proxy = RecordingProxy(Upstream(url), writer.add, host=host, port=port, sign=sign_again)
    interrupted = threading.Event()
    try:
        code = asyncio.run(_serve(proxy, url, commands.get_program(ctx), interrupted))
    except OSError as error:
        raise UsageError(f"cannot listen on `{address}`: {error.strerror or error}") from error
    finally:
        try:
            writer.finish(PATIENCE if interrupted.is_set() else None)
        finally:
            process.kill()
    summary = writer.summarise(proxy.received)
    if writer.has_saved:
        words = f"--specs {settings.specs} --cassettes {settings.folder}"
        click.echo(f"review the drafts, also for {NOT_REPLACED}, then `conform run {words} -i …`", err=True)
    ctx.exit(code or summary)


async def _serve(
    proxy: RecordingProxy, upstream: str, words: Sequence[str], interrupted: threading.Event
) -> int:
    stopped = asyncio.Event()

    def interrupt() -> None:
        interrupted.set()
        stopped.set()

    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(calling_on_signals(stopped.set, signal.SIGTERM))
        stack.enter_context(calling_on_signals(interrupt, signal.SIGINT))
        await stack.enter_async_context(proxy)
        # With a command, stdout belongs to the command.
        click.echo(f"{proxy.url} forwards to {upstream}", err=bool(words))
        if not words:
            click.echo(f"{_format_variables(proxy.url)}\nstop with Ctrl-C", err=True)
            await stopped.wait()
            return Exit.EXPECTED
        return await _run_command(words, _make_environment(proxy.url), stopped)


async def _run_command(words: Sequence[str], variables: Mapping[str, str], stopped: asyncio.Event) -> int:
    """Run the command and return the exit code that a shell would report; a signal ends the command."""
    try:
        process = await asyncio.create_subprocess_exec(*words, env={**os.environ, **variables})
    except OSError as error:
        raise UsageError(f"cannot run `{words[0]}`: {error.strerror}") from error
    ended, signalled = asyncio.ensure_future(process.wait()), asyncio.ensure_future(stopped.wait())
    await asyncio.wait({ended, signalled}, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if not ended.done():
        process.terminate()
    code = await ended
    # asyncio reports a process killed by signal N as -N; a shell reports it as 128 + N.
    return code if code >= 0 else 128 - code


class _Writer:
    """Has exchanges written one at a time, and prints and counts the results, in a separate thread."""

    def __init__(self, keep: Callable[[Overheard], KeptExchange | NotKept]) -> None:
        self._keep = keep
        self._waiting: queue.SimpleQueue[Overheard | None] = queue.SimpleQueue()
        self._unwritten: dict[int, Overheard] = {}
        self._counts: Counter[str] = Counter()
        self._error: BaseException | None = None
        # A daemon does not keep the command running after Ctrl-C.
        self._thread = threading.Thread(target=self._write, name="writer", daemon=True)
        self._thread.start()

    def add(self, exchange: Overheard) -> None:
        self._unwritten[exchange.number] = exchange
        self._waiting.put(exchange)

    def finish(self, patience: float | None) -> None:
        """Wait until all is written, or nothing has been for `patience` seconds. Raises the first error."""
        self._waiting.put(None)
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C
            count = -1
            while self._thread.is_alive() and count != len(self._unwritten):
                count = len(self._unwritten) if patience is not None else -1
                self._thread.join(patience)
        while self._unwritten:
            _, exchange = self._unwritten.popitem()
            size = f"{exchange.received:,} bytes"
            line = f"not saved: {exchange.method} request {exchange.number}: {size} were still being written"
            click.echo(line, err=True)
            self._count(exchange, "lost", exchange.received)
        if self._error is not None:
            raise self._error

    @property
    def has_saved(self) -> bool:
        return bool(self._counts["kept"])

    def summarise(self, received: Received) -> Exit:
        """Print how many exchanges were saved, and return the exit code. Raises `LostError`."""
        counts = self._counts
        kept, lost = counts["kept"], counts["lost"]
        click.echo(
            f"{format_count(kept, 'exchange')} recorded" + (f", {lost} not saved" if lost else ""), err=True
        )
        require_balance(
            Balance("answer", "received", received.answers, {"saved or refused": counts["answers"]}),
            Balance("byte", "received", received.bytes, {"saved or refused": counts["bytes"]}),
        )
        return Exit.USAGE if lost or not kept else Exit.EXPECTED

    def _count(self, exchange: Overheard, kind: str, size: int) -> None:
        if exchange.status is not None:
            self._counts.update({"answers": 1, "bytes": size})
        self._counts[kind] += 1

    def _write(self) -> None:
        while (exchange := self._waiting.get()) is not None:
            try:
                result = self._keep(exchange)
            except BaseException as error:  # noqa: BLE001 - raised in the main thread
                self._error = self._error or error
                continue
            if self._unwritten.pop(exchange.number, None) is None:
                return  # `finish` did not wait, and has counted it
            if isinstance(result, NotKept):
                self._count(exchange, "lost" if result.is_lost else "", exchange.received)
            else:
                self._count(exchange, "kept", result.size)
            click.echo(_describe(result, exchange), err=True)


def _describe(result: KeptExchange | NotKept, exchange: Overheard) -> str:
    if isinstance(result, NotKept):
        head, *rest = result.why.split("\n")
        first = escape_line(f"not saved: {result.request}: {head}", MAX_LINE)
        return "\n".join([first, *(escape_line(line, MAX_LINE) for line in rest)])
    cassette = result.cassette
    if result.is_twin:
        size = f"{len(cassette.twin or b''):,} bytes"
        return f"{cassette.api}/{cassette.name}: HTTP {exchange.status}, {size}, the stream's twin"
    size = f"{len(cassette.body):,} bytes in {format_count(len(cassette.marks), 'chunk')}"
    cut = f", cut: {exchange.cut}" if exchange.cut else ""
    form = ", a document" if is_document(cassette) else ""
    replaced = "".join(f", replaced {count} x {kind}" for kind, count in result.replaced.items())
    name = f"{cassette.api}/{cassette.name}"
    how = "a WebSocket" if exchange.status == SWITCHED else f"HTTP {cassette.status}"
    first = f"{name}: {how}, {size}{form}{cut}{replaced}"
    return "\n".join(
        escape_line(line, MAX_LINE) for line in (first, *(f"  check: {note}" for note in result.notes))
    )


def _make_environment(url: str) -> dict[str, str]:
    """Return the environment variables that make every API's SDKs use `url`."""
    return {name: url + path for api in APIS.values() for name, path in api.key.addresses.items()}


def _format_variables(url: str) -> str:
    return "\n".join(f"  {name}={value}" for name, value in _make_environment(url).items())


def _parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    # `isascii`, because `isdigit` also accepts characters such as `²`, which `int` rejects.
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(
            f"`--address {text}`: expected HOST:PORT, as in 127.0.0.1:8090; port 0 selects a free port"
        )
    if not LOOPBACK.fullmatch(host):
        raise UsageError(
            f"`--address {text}`: only this machine may connect, because clients send their keys "
            "unencrypted; use 127.0.0.1"
        )
    return host, int(port)
