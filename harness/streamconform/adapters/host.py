"""The program that hosts a Python adapter: `python -m streamconform.adapters.host TARGET`.

It speaks protocol v1 like any other program, so that a callable which hangs, exits or crashes takes
nothing with it. TARGET is `package.module:name`, or a package: the entry point of that name in the group
`streamconform`, else `package.conform:adapter`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback
from binascii import a2b_base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, BinaryIO, Final

from streamconform.adapters import json_line
from streamconform.adapters.adapter_input import AnyRun, Chunks, HttpRun, Run
from streamconform.model.capability import CALLED, OF_STREAMS
from streamconform.model.trial import Input

GROUP: Final = "streamconform"
INPUTS: Final[frozenset[Input]] = frozenset({"bytes", "http"})
"""What a callable can be given; to be pushed to it would have to be several."""
UNUSABLE: Final = 3
"""Exit code where the target cannot be imported; the reason is the last line on stderr."""


Tell = Callable[[Any], None]
"""Hands on an event as it happens."""


@dataclass(slots=True)
class Answered:
    """What an adapter gave: its outcome, and its events if it yields any."""

    outcome: Any = None
    first: Any = None
    """Of a round trip, what it made of the first answer, where it tells that."""
    events: list[Any] | None = None
    taken: list[int] = field(default_factory=list)
    """For each event, how many chunks had been taken when it came out."""
    deviations: Any = None
    """The rules that the stream breaks, where it was held to any."""
    given: bool = False
    tell: Tell | None = None
    """Where events go at once; None: they are kept."""

    def take(self, item: Any, run: AnyRun) -> None:
        """Note one yielded item: an event, or last the outcome."""
        if self.events is None and self.tell is None:
            self.events = []
        if isinstance(item, dict) and "outcome" in item and "type" not in item:
            self.end(item)
            self.deviations = item.get("deviations")
            return
        if self.tell is not None:
            self.tell(item)
        elif isinstance(run, Run) and self.events is not None:
            self.events.append(item)
            self.taken.append(run.chunks.taken)

    def end(self, given: Any) -> None:
        """Note what it returned: the outcome, or of a round trip both."""
        both = isinstance(given, dict) and "outcome" in given
        self.outcome, self.given = given["outcome"] if both else given, True
        self.first = given.get("first") if both else None


class Missing(Exception):
    """The target is not there; the text says what to do."""


def resolve(target: str) -> Callable[[Run], Any]:
    """Return the adapter that `target` names; raises `Missing`."""
    if ":" in target:
        module, _, name = target.partition(":")
        return _attribute(module, name)
    for point in entry_points(group=GROUP):
        if point.name == target:
            return _attribute(point.module, point.attr)
    return _attribute(f"{target}.conform", "adapter")


def call(adapter: Callable[[Any], Any], run: AnyRun, tell: Tell | None = None) -> Answered:
    """Return what `adapter` makes of `run`, whether it is plain, a generator, or either of them async."""
    answered = Answered(tell=tell)
    given = adapter(run)
    if inspect.isasyncgen(given) or hasattr(given, "__aiter__"):
        asyncio.run(_drain(given, run, answered))
    elif inspect.isawaitable(given):
        answered.end(asyncio.run(_wait(given)))
    elif inspect.isgenerator(given) or isinstance(given, Iterator):
        for item in given:
            answered.take(item, run)
    else:
        answered.end(given)
    if not answered.given:
        raise TypeError('the adapter yielded no {"outcome": …}; yield it last')
    return answered


def main(target: str) -> None:
    """Serve the adapter `target` on stdin and stdout until `stop` or the end of input."""
    sys.path.insert(0, str(Path.cwd()))
    out = own_stdout()
    try:
        adapter = resolve(target)
    except Missing as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNUSABLE)
    except BaseException:  # noqa: BLE001 - importing somebody's module can raise anything
        traceback.print_exc()
        sys.exit(UNUSABLE)
    serve(adapter, target, out)


def own_stdout() -> BinaryIO:
    """Return the protocol's stream; what anybody prints goes to stderr from now on."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def serve(adapter: Callable[[Any], Any], target: str, out: BinaryIO) -> None:
    """Answer on `out` what comes on stdin until `stop` or the end of input."""
    for line in sys.stdin.buffer:
        message = json_line.loads(line)
        match message.get("op"):
            case "hello":
                _send(out, _line(greeting(adapter, target)))
            case "run":
                _send(out, _answer(adapter, message, out))
            case "call":
                _send(out, _result(message["id"], partial(output, adapter, message)))
            case "stop":
                return
            case _:
                pass


def _attribute(module: str, name: str) -> Callable[[Run], Any]:
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        words = f"no module `{error.name}`: install it here, or start in the folder that holds it"
        raise Missing(words) from error
    try:
        found = getattr(loaded, name)
    except AttributeError as error:
        raise Missing(
            f"module `{module}` has no `{name}`; an adapter is a callable that takes one run"
        ) from error
    if not callable(found):
        raise Missing(f"`{module}:{name}` is not callable; an adapter is a callable that takes one run")
    adapter: Callable[[Run], Any] = found
    return adapter


def greeting(adapter: Callable[[Run], Any], target: str) -> dict[str, Any]:
    """Return the answer to the greeting: what `adapter` says of itself in its attributes."""
    info = {"name": target.partition(":")[0], "language": "python"} | dict(getattr(adapter, "info", {}))
    given = {
        "apis": getattr(adapter, "apis", None),
        "inputs": [each for each in getattr(adapter, "inputs", ()) if each in INPUTS] or None,
        "capabilities": getattr(adapter, "capabilities", None),
    }
    told = {key: _plain(value) for key, value in given.items() if value is not None}
    through = getattr(adapter, "through", None)
    if through is not None:
        told["through"] = dict(through)
    told |= _claimed(adapter, told.get("capabilities"))
    return {"op": "hello", "protocol": 1, "implementation": info} | told


def _claimed(adapter: Callable[[Run], Any], named: Any) -> dict[str, Any]:
    """Return the capabilities to tell: without those of functions that the adapter does not have.

    Where the adapter names none, the functions that it has are claimed beside all that streams have. Who
    asks a server needs no function to have requests judged, but names them.
    """
    there = {need for function, need in CALLED.values() if callable(getattr(adapter, function, None))}
    absent = {need for _, need in CALLED.values()} - there
    if "http" in getattr(adapter, "inputs", ()):
        absent -= {CALLED["request"][1]}
    if isinstance(named, dict):
        return {
            "capabilities": {api: [each for each in own if each not in absent] for api, own in named.items()}
        }
    if named is not None:
        return {"capabilities": [each for each in named if each not in absent]}
    return {"capabilities": sorted(OF_STREAMS | there)} if there else {}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return sorted(value) if isinstance(value, set | frozenset) else list(value)


def _run(message: Mapping[str, Any]) -> AnyRun:
    given = message["input"]
    told = {name: message.get(name) for name in ("request", "model", "pricing")}
    if given["mode"] == "http":
        told |= {name: message.get(name) for name in ("conversation", "results")}
        return HttpRun(message["api"], given["base_url"], given["api_key"], **told)
    chunks = Chunks(list(map(a2b_base64, given["chunks"])))
    return Run(message["api"], given["status"], given["headers"], chunks, **told)


def _answer(adapter: Callable[[Any], Any], message: Mapping[str, Any], out: BinaryIO) -> bytes:
    """Return the line that answers a run; where it asks a server, its events are sent as they happen."""

    def tell(event: Any) -> None:
        _send(out, _line({"op": "event", "id": message["id"], "event": event}))

    return _result(message["id"], lambda: answer(adapter, message, tell))


def answer(adapter: Callable[[Any], Any], message: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Return the members of the result of a run; the events of one that asks a server go to `tell`."""
    run = _run(message)
    answered = call(adapter, run, tell if isinstance(run, HttpRun) else None)
    told = {} if answered.events is None else {"events": answered.events, "taken": answered.taken}
    if answered.first is not None:
        told["first"] = answered.first
    if answered.deviations:
        told["deviations"] = answered.deviations
    return {"outcome": answered.outcome} | told


def output(adapter: Callable[[Any], Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the result of a call of one of the adapter's functions."""
    function = message["function"]
    if not callable(getattr(adapter, function, None)):
        return {"skipped": {"reason": f"the adapter has no `{function}`"}}
    given = getattr(adapter, function)(message.get("api"), message["input"])
    return {"output": asyncio.run(_wait(given)) if inspect.isawaitable(given) else given}


def _result(id_: str, made: Callable[[], dict[str, Any]]) -> bytes:
    """Return the line with what `made` returns, or its fault; a value that is no JSON is one too."""
    head = {"op": "result", "id": id_}
    try:
        return _line(head | made())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - anything, sys.exit included; it is told, not hidden
        words = f"{type(error).__name__}: {error}"
        return _line(head | {"errored": {"message": words, "traceback": traceback.format_exc(limit=-12)}})


async def _wait(given: Awaitable[Any]) -> Any:
    return await given


async def _drain(given: AsyncIterator[Any], run: AnyRun, answered: Answered) -> None:
    async for item in given:
        answered.take(item, run)


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _send(out: BinaryIO, line: bytes) -> None:
    out.write(line)
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
