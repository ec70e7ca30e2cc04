"""Do what `control` of a run asks: leave an answer, read several, stop reading for a while, or allow retries.

The functions of a library are called as without `control`. A task can be cancelled only with a library's
asynchronous client. Its requests run on one event loop, which goes on between the runs, as in a server:
otherwise the end of the loop would close what the library left open.
"""

from __future__ import annotations

import asyncio
import inspect
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, wraps
from threading import Lock, Thread
from typing import Any, Final, ParamSpec, TypeVar

from streamconform.normal.blocks import get

Settings = ParamSpec("Settings")
Client = TypeVar("Client")
KEPT_CLIENTS: Final = 8
TURNS: Final = 32
"""The turns of the event loop after an answer, in place of the work that a server goes on with."""
Build = Callable[[], Mapping[str, Any]]
"""Returns the outcome of what has been received so far."""
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answer_each(adapter: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Return the adapter, wrapped so that it reads as many answers as the run asks for."""

    @wraps(adapter)
    def answering(run: Any) -> dict[str, Any]:
        asked = _read_control(run)
        if count := asked.get("at_once"):
            with ThreadPoolExecutor(count) as pool:
                return {"outcomes": [*pool.map(adapter, [replace(run, control={})] * count)]}
        if count := asked.get("times"):
            # What the client leaves is the first answer; the others are read to their end.
            others = [replace(run, control={})] * (count - 1)
            return {"outcomes": [*map(adapter, [run, *others])]}
        return adapter(run)

    return answering


def keep_clients(make: Callable[Settings, Client]) -> Callable[Settings, Client]:
    """Return `make`, wrapped so that calls with the same settings get one client, also from several threads.

    The last clients stay alive: closing one would close what it left open.
    """
    cached: Callable[..., Client] = lru_cache(KEPT_CLIENTS)(make)
    lock = Lock()

    @wraps(make)
    def keeping(*args: Settings.args, **settings: Settings.kwargs) -> Client:
        with lock:
            return cached(*args, **settings)

    return keeping


def keep_by_run(make: Callable[[Any], Client]) -> Callable[[Any], Client]:
    """Return `make`, wrapped so that all answers of a run with `control` get one client."""
    kept = keep_clients(lambda key: make(key.run))

    @wraps(make)
    def keeping(run: Any) -> Client:
        return kept(_Key(run.base_url, has_default_retries(run), run)) if has_control(run) else make(run)

    return keeping


@dataclass(frozen=True, slots=True)
class _Key:
    """What a client is made for; each run has its own address."""

    base_url: str
    has_default_retries: bool
    run: Any = field(compare=False)


def turn_off_retries(run: Any, **settings: Any) -> dict[str, Any]:
    """Return the settings with which a library sends nothing again, or none if retries stay as they are."""
    return {} if has_default_retries(run) else settings


def has_default_retries(run: Any) -> bool:
    """Return whether the library's retries stay as they are by default."""
    return _read_control(run).get("retries") == "default"


def is_cancelled(run: Any) -> bool:
    """Return whether the answer is left by a task that is cancelled; nothing else ends a silent request."""
    asked = _read_control(run)
    return asked.get("stop") == "cancel" or asked.get("after") == 0


def has_control(run: Any) -> bool:
    """Return whether the run has `control`: a library without a synchronous client then gets one loop."""
    return get(run, "control") is not None


def is_aborted(run: Any) -> bool:
    """Return whether the answer is aborted, for libraries whose synchronous streams cannot be."""
    return _read_control(run).get("stop") == "abort"


def stops_early(run: Any) -> bool:
    """Return whether the answer is left before its end, so that the library has no whole one."""
    return "stop" in _read_control(run)


class ContextStream:
    """The stream of an asynchronous context manager, which is left like it; yields what `take` returns."""

    def __init__(
        self, manager: Any, take: Callable[[Any, Any], Any] = lambda _, item: item, abort: str = "close"
    ) -> None:
        """Store the manager; `take` gets the stream and an item, and `abort` is the stream's function."""
        self._manager = manager
        self._take = take
        self._abort = abort
        self._stream: Any = None

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Enter the context, and yield until the stream ends."""
        async with self._manager as self._stream:
            async for item in self._stream:
                yield self._take(self._stream, item)

    async def aclose(self) -> None:
        """Abort as the library documents it."""
        await getattr(self._stream, self._abort)()


def read(
    run: Any,
    received: list[Any],
    build: Build,
    open_stream: Callable[[], Any] | None,
    open_async: Callable[[], Any] | None = None,
) -> None:
    """Append to `received` what the stream of a library yields, until it ends or is left.

    `open_async` returns the stream of its asynchronous client, or an awaitable of it. It is used to cancel
    a task, and for everything if the library has only that one.
    """
    if open_async is not None and (open_stream is None or is_cancelled(run)):
        _run_on_loop(_supervise(run, received, build, open_async))
    elif open_stream is not None:
        for item in watch(run, open_stream(), build):
            received.append(item)  # noqa: PERF402 - items before an exception must be kept


def watch(run: Any, stream: Any, build: Build) -> Iterator[Any]:
    """Yield what a stream yields; close it, leave it, or pause after the delta that the run names."""
    asked = _read_control(run)
    point = _StopPoint(asked, build)
    for item in stream:
        yield item
        if not point.is_reached():
            continue
        if "pause" in asked:
            _wait_for_server(asked["pause"]["url"])
            continue
        if asked["stop"] == "abort":
            stream.close()
        return


async def _supervise(run: Any, received: list[Any], build: Build, open_async: Callable[[], Any]) -> None:
    """Read in a task of its own, and cancel it if the run asks for that."""
    asked = _read_control(run)
    reached = asyncio.Event()
    task = asyncio.create_task(_read_async(asked, received, build, open_async, reached))
    if not is_cancelled(run):
        await task
        return
    if asked["after"] == 0:
        await asyncio.to_thread(_wait_for_server, asked["url"])
    else:
        waiting = asyncio.create_task(reached.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


async def _read_async(
    asked: Mapping[str, Any],
    received: list[Any],
    build: Build,
    open_async: Callable[[], Any],
    reached: asyncio.Event,
) -> None:
    stream = open_async()
    if inspect.isawaitable(stream):
        stream = await stream
    point = _StopPoint(asked, build)
    async for item in stream:
        received.append(item)
        if not point.is_reached():
            continue
        reached.set()
        if "pause" in asked:
            await asyncio.to_thread(_wait_for_server, asked["pause"]["url"])
        elif asked["stop"] == "abort":
            await (stream.aclose() if hasattr(stream, "aclose") else stream.close())
            return
        elif asked["stop"] == "abandon":
            return


class _StopPoint:
    """Counts the deltas of an answer: the times at which its text, thinking or arguments grew."""

    def __init__(self, asked: Mapping[str, Any], build: Build) -> None:
        self._left: int | None = asked.get("after") or get(asked, "pause", "after")
        self._build = build
        self._size = 0

    def is_reached(self) -> bool:
        """Return, once, whether the library has handed out the delta that the run names."""
        if self._left is None:
            return False
        size = sum(map(_measure, self._build()["content"]))
        self._left -= size > self._size
        self._size = size
        if self._left > 0:
            return False
        self._left = None
        return True


def _measure(block: Mapping[str, Any]) -> int:
    return len(block.get("text") or block.get("arguments_text") or str(block.get("arguments") or ""))


def _read_control(run: Any) -> Mapping[str, Any]:
    control: Mapping[str, Any] | None = get(run, "control")
    return control or {}


def _wait_for_server(url: str) -> None:
    """Return when the server answers a request that is not for the model."""
    with _OPENER.open(url) as response:
        response.read()


def _run_on_loop(work: Any) -> None:
    loop = _start_loop()
    try:
        asyncio.run_coroutine_threadsafe(work, loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(_settle(), loop).result()


async def _settle() -> None:
    """Let the loop do what it has already been asked for, such as closing generators without a reader."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


@cache
def _start_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True).start()
    return loop
