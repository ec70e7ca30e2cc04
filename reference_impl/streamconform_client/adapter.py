"""The adapter of the client for the harness: it does what `control` asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, cast

from streamconform_reference.adapter import CAPABILITIES, VERSION, Adapter
from streamconform_reference.apis import DECODERS
from streamconform_reference.outcome import Json

from .client import AnswerReader, AnswerRequest, HttpClient, load_certificates

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


def adapter_for(
    make: Callable[..., HttpClient] = HttpClient,
    *,
    name: str = "streamconform-client",
    apis: Iterable[str] = DECODERS,
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
        apis=[*apis],
        inputs=["http"],
        capabilities=[*(each for each in CAPABILITIES if each != "events"), *controls],
    )
    return cast("Adapter", adapter)


async def _answer(client: HttpClient, run: HttpRun, control: Mapping[str, Any]) -> Json:
    asked = AnswerRequest(run.api, run.base_url, run.request, run.model, run.pricing)
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


async def _read(client: HttpClient, asked: AnswerRequest, control: Mapping[str, Any]) -> Json:
    """Return the outcome of one answer, which may be left as `control` says."""
    import httpx

    try:
        if control.get("stop") == "cancel" or control.get("after") == 0:
            return await _cancel(client, asked, control)
        async with client.stream(asked) as reading:
            await _iterate(reading, control)
            return cast("Json", reading.outcome.to_json())
    except httpx.TransportError as error:
        described = {"message": str(error) or type(error).__name__}
        return {"status": "error", "content": [], "stop": {"reason": "error"}, "error": described}


async def _iterate(reading: AnswerReader, control: Mapping[str, Any]) -> None:
    """Read an answer, up to the delta after which `control` leaves it."""
    deltas, pause = 0, control.get("pause", {})
    async for event in reading.events():
        deltas += event.to_json()["type"].endswith("_delta")
        if "stop" in control and deltas == control["after"]:
            return
        if deltas == pause.get("after"):
            await _wait_for_server(pause["url"])
            pause = {}


async def _cancel(client: HttpClient, asked: AnswerRequest, control: Mapping[str, Any]) -> Json:
    """Cancel the task that reads an answer, and return what it had received."""
    reached: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    async def read() -> None:
        async with client.stream(asked) as reading:
            await _iterate(reading, control)
            reached.set_result(cast("Json", reading.outcome.to_json()))
            await asyncio.Event().wait()  # as if it were handling the delta

    task = asyncio.create_task(read())
    if control["after"] == 0:
        await _wait_for_server(control["url"])
        reached.set_result({"status": "incomplete", "content": []})
    outcome = await reached
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return outcome


async def _wait_for_server(url: str) -> None:
    """Return when the server answers a request that is not for a model."""
    import httpx

    async with httpx.AsyncClient(timeout=None, trust_env=False, verify=load_certificates()) as other:
        await other.get(url)


adapter: Final = adapter_for()
