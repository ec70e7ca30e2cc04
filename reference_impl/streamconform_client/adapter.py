"""The adapter of the client for the harness: it does what `control` asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from streamconform_reference.adapter import CAPABILITIES, VERSION, Adapter
from streamconform_reference.apis import DECODERS
from streamconform_reference.outcome import Json

from .client import Asked, Client, Reading

CONTROLS: Final = ("abort", "retries", "concurrency", "backpressure")
"""The capabilities that only a client over HTTP can have."""


class HttpRun(Protocol):
    """What the adapter is given for one run."""

    api: str
    base_url: str
    request: Mapping[str, Any]
    model: str
    pricing: Mapping[str, Any] | None
    control: Mapping[str, Any] | None


class _Left(Exception):
    """The answer was left before its end."""


def adapter_for(
    make: Callable[..., Client] = Client,
    *,
    name: str = "streamconform-client",
    controls: tuple[str, ...] = CONTROLS,
) -> Adapter:
    """Return an adapter that uses the clients that `make` returns, and claims these `controls`."""

    async def adapter(run: HttpRun) -> Json:
        control = run.control or {}
        client = make(retries=None if control.get("retries") == "default" else 0)
        try:
            return await _answer(client, run, control)
        finally:
            await client.close()

    vars(adapter).update(
        info={"name": name, "version": VERSION, "language": "python"},
        apis=list(DECODERS),
        inputs=["http"],
        capabilities=[*(each for each in CAPABILITIES if each != "events"), *controls],
    )
    return cast("Adapter", adapter)


async def _answer(client: Client, run: HttpRun, control: Mapping[str, Any]) -> Json:
    asked = Asked(run.api, run.base_url, run.request, run.model, run.pricing)
    if "at_once" in control:
        outcomes = await asyncio.gather(*(_read(client, asked, {}) for _ in range(control["at_once"])))
        return {"outcomes": [*outcomes]}
    if "times" in control:
        # What the client leaves is the first answer; the others are read to their end.
        return {
            "outcomes": [
                await _read(client, asked, control if i == 0 else {}) for i in range(control["times"])
            ]
        }
    return {"outcome": await _read(client, asked, control)}


async def _read(client: Client, asked: Asked, control: Mapping[str, Any]) -> Json:
    """Return the outcome of one answer, which may be left as `control` says."""
    if control.get("stop") == "cancel":
        return await _cancel(client, asked, control)
    if control.get("after") == 0:
        return await _leave_before_first_byte(client, asked, control)
    async with client.stream(asked) as reading:
        await _iterate(client, reading, control)
        return cast("Json", reading.outcome.to_json())


async def _iterate(client: Client, reading: Reading, control: Mapping[str, Any]) -> None:
    deltas = 0
    pause = control.get("pause", {})
    async for event in reading.events():
        deltas += event.to_json()["type"].endswith("_delta")
        if control.get("stop") and deltas == control["after"]:
            return
        if deltas == pause.get("after"):
            await _wait_for_server(client, pause["url"])
            pause = {}


async def _wait_for_server(client: Client, url: str) -> None:
    """Return when the server answers a request that is not for the model."""
    del client
    import httpx

    async with httpx.AsyncClient(timeout=None, trust_env=False) as other:
        await other.get(url)


async def _cancel(client: Client, asked: Asked, control: Mapping[str, Any]) -> Json:
    """Cancel the task that reads, and return what it had received."""
    reached: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    async def read() -> None:
        async with client.stream(asked) as reading:
            deltas = 0
            async for event in reading.events():
                deltas += event.to_json()["type"].endswith("_delta")
                if deltas == control["after"] and not reached.done():
                    reached.set_result(reading.outcome.to_json())

    task = asyncio.create_task(read())
    if control["after"] == 0:
        await _wait_for_server(client, control["url"])
        outcome = _NOTHING
    else:
        outcome = await reached
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return outcome


_NOTHING: Final[Json] = {"status": "incomplete", "content": []}


async def _leave_before_first_byte(client: Client, asked: Asked, control: Mapping[str, Any]) -> Json:
    """Abort a request as soon as the server has it."""
    return await _cancel(client, asked, control)


adapter: Final = adapter_for()
