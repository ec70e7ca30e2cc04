"""Host a Python adapter as a program: `python -m streamconform.adapters.host TARGET`.

It speaks protocol v1 like any other program, so that an adapter that hangs, exits or crashes affects nothing
else. TARGET is `package.module:name`, `path/to/file.py:name`, or a package name: the entry point with that
name in the group `streamconform`, or else `package.conform:adapter`.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from binascii import a2b_base64
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from streamconform.adapters import exception_origin, json_line
from streamconform.adapters.adapter_input import AdapterInput, BytesInput, Chunks, HttpInput
from streamconform.adapters.deferred_certificates import defer_certificate_loading
from streamconform.adapters.non_json import replace_non_json
from streamconform.model.capability import CALLED, OF_STREAMS
from streamconform.suggestions import suggest

if TYPE_CHECKING:
    import asyncio

    from streamconform.model.trial import Input

GROUP: Final = "streamconform"
REFERENCE: Final = "streamconform_reference"
"""The bundled parser. Results say whether this process imported it: it may then be what is judged."""
MUTANTS: Final = "streamconform_mutants"
CALLABLE: Final = "an adapter is a callable with one argument, the run"
INPUTS: Final[frozenset[Input]] = frozenset({"bytes", "http"})
"""The input modes that a callable supports; `push` would require one call per chunk."""
UNUSABLE: Final = 3
"""Exit code if the target cannot be imported; the last line of stderr states the reason."""
TRACEBACK_FRAMES: Final = 12
"""The number of innermost frames to send from an adapter's exception."""
MAX_ERRORED: Final = 4000
"""The maximum number of characters to send from an exception's message, and from its traceback."""


SendEvent = Callable[[Any], None]
"""Sends an event as soon as the adapter yields it."""


@dataclass(slots=True)
class AdapterResult:
    """The result of one call to an adapter: its outcome, and any events that it yields."""

    outcome: Any = None
    outcomes: Any = None
    """For a run with several answers: the outcome of each."""
    first: Any = None
    """For a round trip: the outcome of the first answer, if the adapter returns it."""
    events: list[Any] | None = None
    taken: list[int] = field(default_factory=list)
    """For each event, the number of chunks read before it was yielded."""
    raised: Any = None
    """The exception that the adapter caught, or its description."""
    deviations: Any = None
    """The rules that the stream violates, if the adapter checks any."""
    finished: bool = False
    """Whether there is either an outcome or an exception."""
    send_event: SendEvent | None = None
    """Receives events immediately; if not set, events are collected in `events`."""

    def add_item(self, item: Any, run: AdapterInput) -> None:
        """Add one yielded item: an event or, as the last item, the outcome."""
        if self.events is None and self.send_event is None:
            self.events = []
        # An event has a `type`, and is still an event if it also has a member called `outcome`.
        if isinstance(item, dict) and is_result(item) and "type" not in item:
            self.finish(item)
            self.deviations = item.get("deviations")
            return
        if self.send_event is not None:
            self.send_event(item)
        elif isinstance(run, BytesInput) and self.events is not None:
            self.events.append(item)
            self.taken.append(run.chunks.taken)

    def finish(self, value: Any) -> None:
        """Set the returned outcome; `value` may also be `{"outcome": …, "first": …, "raised": …}`."""
        result = value if isinstance(value, dict) and is_result(value) else {"outcome": value}
        self.outcome, self.first = result.get("outcome"), result.get("first")
        self.outcomes = result.get("outcomes")
        self.raised = result.get("raised")
        self.finished = True


class LineWriter(Protocol):
    """Writes lines of bytes, as a binary file does."""

    def write(self, line: bytes, /) -> Any:
        """Write one line."""

    def flush(self) -> Any:
        """Send what was written."""


def is_result(value: Mapping[str, Any]) -> bool:
    """Return whether `value` contains an outcome or an exception, and is not itself an outcome."""
    return any(name in value for name in ("outcome", "outcomes", "raised"))


class TargetError(Exception):
    """The target does not exist; the message says what to do."""


def load_adapter(target: str) -> Callable[[BytesInput], Any]:
    """Return the adapter that `target` names. Raises `TargetError`."""
    if ":" in target:
        module, _, name = target.rpartition(":")
        return _load_attribute(target, _import_file(module) if module.endswith(".py") else module, name)
    from importlib.metadata import entry_points  # only this form of a target needs it

    for point in entry_points(group=GROUP):
        if point.name == target:
            return _load_attribute(target, point.module, point.attr)
    return _load_attribute(target, get_adapter_module(target), "adapter")


def get_adapter_module(package: str) -> str:
    """Return the module in which a package without an entry point has its adapter."""
    return f"{package}.conform"


def explain_missing_module(target: str, missing: str) -> str:
    """Return why `target` cannot be loaded if the module `missing` does not exist, and what to do."""
    if missing == get_adapter_module(target):
        return (
            f"`{target}` is installed, but has no adapter: there is no module `{missing}`, and no entry "
            f"point `{target}` in the group `{GROUP}`; to write an adapter, run `conform init --input http`"
        )
    return f"no module `{missing}`: install it in this environment, or run from its folder"


def explain_missing_file(path: str) -> str:
    """Return the message for a file that does not exist."""
    return f"no file `{path}`; the path is relative to the current folder"


def call_adapter(
    adapter: Callable[[Any], Any], run: AdapterInput, send_event: SendEvent | None = None
) -> AdapterResult:
    """Return the result of `adapter(run)`; the adapter is a function or a generator, sync or async."""
    result = AdapterResult(send_event=send_event)
    keep = getattr(run, "control", None) is not None
    value = adapter(run)
    if inspect.isasyncgen(value) or hasattr(value, "__aiter__"):
        _run_async(_collect_async(value, run, result), keep=keep)
    elif inspect.isawaitable(value):
        result.finish(_run_async(_await_value(value), keep=keep))
    elif inspect.isgenerator(value) or isinstance(value, Iterator):
        for item in value:
            result.add_item(item, run)
    else:
        result.finish(value)
    if not result.finished:
        raise TypeError('the adapter yielded no {"outcome": …}; yield it last')
    return result


def main(target: str) -> None:
    """Serve the adapter `target` on stdin and stdout until `stop` or the end of input."""
    sys.path.insert(0, str(Path.cwd()))
    # Before the import, which may print.
    messages, out = take_streams()
    # Also before the import, since a module may create a client at its top level.
    defer_certificate_loading()
    try:
        adapter = load_adapter(target)
    except TargetError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNUSABLE)
    except BaseException:  # noqa: BLE001 - importing a user's module can raise anything
        traceback.print_exc()
        sys.exit(UNUSABLE)
    serve(adapter, target, messages, out)
    gc.freeze()  # Python would search everything that the adapter imported for garbage when it exits


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams for protocol messages; stdin becomes empty, and stdout becomes stderr.

    A `print` in the adapter or its library must not end up among the messages, and nothing but the host may
    read the messages of later runs, which may already be waiting.
    """
    messages, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return messages, out


def serve(adapter: Callable[[Any], Any], target: str, messages: Iterable[bytes], out: LineWriter) -> None:
    """Answer `messages` by writing to `out`, until `stop` or the end."""
    for line in messages:
        message = json_line.loads(line)
        match message.get("op"):
            case "hello":
                _send(out, _encode_line(build_greeting(adapter, target)))
            case "run":
                _send(out, _handle_run(adapter, message, out))
            case "call":
                _send(out, encode_result(adapter, message, partial(build_call_result, adapter, message)))
            case "stop":
                return
            # A later protocol version may have messages that this one does not know.
            case _:
                pass


def _import_file(path: str) -> str:
    """Import the module in a file and return the name under which it was imported."""
    file = Path(path).resolve()
    name = f"streamconform_adapter_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise TargetError(explain_missing_file(path))
    # The file's folder stays off the import path, because a folder of tests often has subfolders such as
    # `tests/requests`. The module is registered before it runs, because `dataclasses` looks up a class's
    # module by name.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return name


def _load_attribute(target: str, module: str, name: str) -> Callable[[BytesInput], Any]:
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # The module exists, but one of its imports does not: only the traceback shows which one.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise TargetError(explain_missing_module(target, error.name)) from error
    try:
        value = getattr(loaded, name)
    except AttributeError as error:
        hint = "`conform dev selftest --list` lists the mutants" if module == MUTANTS else CALLABLE
        raise TargetError(
            f"module `{module}` has no `{name}`{suggest(name, dir(loaded)) or f'; {hint}'}"
        ) from error
    if not callable(value):
        raise TargetError(f"`{module}:{name}` is not callable; {CALLABLE}")
    adapter: Callable[[BytesInput], Any] = value
    return adapter


def build_greeting(adapter: Callable[[BytesInput], Any], target: str) -> dict[str, Any]:
    """Build `adapter`'s greeting from its attributes."""
    info = {"name": _name_implementation(target), "language": "python"} | dict(getattr(adapter, "info", {}))
    attributes = {
        "apis": getattr(adapter, "apis", None),
        "inputs": [name for name in getattr(adapter, "inputs", ()) if name in INPUTS] or None,
        "capabilities": getattr(adapter, "capabilities", None),
        "lacks": getattr(adapter, "lacks", None),
    }
    members = {name: _to_json(value) for name, value in attributes.items() if value is not None}
    through = getattr(adapter, "through", None)
    if through is not None:
        members["through"] = dict(through)
    vendor = getattr(adapter, "vendor", None)
    if vendor is not None:
        members["vendor"] = vendor
    members |= _select_capabilities(adapter, members.get("capabilities"))
    return {"op": "hello", "protocol": 1, "implementation": info} | members


def _name_implementation(target: str) -> str:
    """Return the name for an implementation whose adapter has none: its module name or file name."""
    module = target.rpartition(":")[0] or target
    return Path(module).stem if module.endswith(".py") else module


def _select_capabilities(adapter: Callable[[BytesInput], Any], claimed: Any) -> dict[str, Any]:
    """Return `capabilities` for the greeting, except any that need a function that the adapter lacks.

    An adapter without `capabilities` claims every stream capability, plus one for each function that it has.
    """
    present = {need for function, need in CALLED.values() if callable(getattr(adapter, function, None))}
    absent = {need for _, need in CALLED.values()} - present
    if "http" in getattr(adapter, "inputs", ()):
        # The server sees the requests of an HTTP client, so judging them needs no function.
        absent -= {CALLED["request"][1]}
    if isinstance(claimed, dict):
        return {
            "capabilities": {
                api: [name for name in names if name not in absent] for api, names in claimed.items()
            }
        }
    if claimed is not None:
        return {"capabilities": [name for name in claimed if name not in absent]}
    return {"capabilities": sorted(OF_STREAMS | present)} if present else {}


def _to_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    return sorted(value) if isinstance(value, set | frozenset) else list(value)


def build_input(message: Mapping[str, Any]) -> AdapterInput:
    """Return what an adapter is given for a run."""
    source = message["input"]
    members: dict[str, Any] = {name: message.get(name) for name in ("request", "model", "pricing")}
    members |= {"stream": message.get("stream", True), "transport": source.get("transport", "http")}
    if source["mode"] == "http":
        members |= {name: message.get(name) for name in ("conversation", "results", "turns", "control")}
        return HttpInput(message["api"], source["base_url"], source["api_key"], **members)
    # `a2b_base64` is faster than its wrapper in `base64`, and a bytewise delivery has one chunk per byte.
    chunks = Chunks(list(map(a2b_base64, source["chunks"])))
    return BytesInput(message["api"], source["status"], source["headers"], chunks, **members)


def _handle_run(adapter: Callable[[Any], Any], message: Mapping[str, Any], out: LineWriter) -> bytes:
    """Return a run's result line; the events of an HTTP run are sent as they occur."""

    def send_event(event: Any) -> None:
        _send(out, _encode_line({"op": "event", "id": message["id"], "event": event}))

    return encode_result(adapter, message, lambda: build_run_result(adapter, message, send_event))


def build_run_result(
    adapter: Callable[[Any], Any], message: Mapping[str, Any], send_event: SendEvent
) -> dict[str, Any]:
    """Return the members of a run's result; for an HTTP run, events go to `send_event`."""
    run = build_input(message)
    above = message.get("digest_above")
    if above is not None:
        result = call_adapter(adapter, run, lambda _: None)  # a million events would fill the memory
        result.outcome = digest_texts(result.outcome, above)
    else:
        result = call_adapter(adapter, run, send_event if isinstance(run, HttpInput) else None)
    raised = exception_origin.convert_raised(result.raised, adapter)
    if raised is not None and result.outcome is None and result.outcomes is None:
        return {"raised": raised}
    members: dict[str, Any] = (
        {} if result.events is None else {"events": result.events, "taken": result.taken}
    )
    if raised is not None:
        members["raised"] = raised
    if result.first is not None:
        members["first"] = result.first
    if result.deviations:
        members["deviations"] = result.deviations
    if result.outcomes is not None:
        return {"outcomes": result.outcomes} | members
    return {"outcome": result.outcome} | members


def digest_texts(value: Any, above: int) -> Any:
    """Return a JSON value with the length and the digest of each text that is longer than `above`."""
    if isinstance(value, str) and len(value) > above:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return {"length": len(value), "sha256": digest}
    if isinstance(value, Mapping):
        return {key: digest_texts(item, above) for key, item in value.items()}
    return [digest_texts(item, above) for item in value] if isinstance(value, list | tuple) else value


def build_call_result(adapter: Callable[[Any], Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the result for a `call` message."""
    function = message["function"]
    if not callable(getattr(adapter, function, None)):
        return {"skipped": {"reason": f"the adapter has no function `{function}`"}}
    value = getattr(adapter, function)(message.get("api"), message["input"])
    return {"output": _run_async(_await_value(value)) if inspect.isawaitable(value) else value}


def encode_result(
    adapter: Callable[[Any], Any],
    message: Mapping[str, Any],
    build: Callable[[], dict[str, Any]],
    let_out: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
    on_exception: Callable[[BaseException], None] = lambda _: None,
) -> bytes:
    """Return the result line for `message` with the members that `build` returns.

    If `build` raises, the line has `raised` or `errored` instead, depending on whether the library or the
    adapter raised, and `on_exception` receives the exception. Exceptions in `let_out` propagate.
    """
    head = {"op": "result", "id": message["id"]}
    if REFERENCE in sys.modules:
        head["imported_reference"] = True
    try:
        return _encode_line(head | build())
    except let_out:
        raise
    except BaseException as error:  # noqa: BLE001 - anything, sys.exit included, is reported
        on_exception(error)
        return _encode_line(head | _describe_exception(error, adapter, message))


def _describe_exception(
    error: BaseException, adapter: Callable[[Any], Any], message: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `raised` for an exception from the library, `errored` for one from the adapter."""
    source = message.get("input")
    over_http = message["op"] == "run" and isinstance(source, Mapping) and source.get("mode") == "http"
    raised = exception_origin.find_library_exception(error, adapter, over_http=over_http)
    if raised is not None:
        return {"raised": exception_origin.describe_raised(raised, adapter)}
    text = "".join(traceback.format_exception(error, limit=-TRACEBACK_FRAMES))
    described = f"{type(error).__name__}: {error}"[:MAX_ERRORED]
    return {"errored": {"message": described, "traceback": text[-MAX_ERRORED:]}}


async def _await_value(value: Awaitable[Any]) -> Any:
    return await value


def _run_async(work: Coroutine[Any, Any, Any], *, keep: bool = False) -> Any:
    """Run `work` in an event loop of its own, or, from the first time with `keep`, always in the same one.

    The end of a loop closes what a client has left open. A server's loop goes on, so that of a script does.
    """
    # Imported here, because every worker of every run starts a program, and few adapters are asynchronous.
    import asyncio

    if keep and not _RUNNERS:
        _RUNNERS.append(asyncio.Runner())
    return _RUNNERS[0].run(work) if _RUNNERS else asyncio.run(work)


_RUNNERS: Final[list[asyncio.Runner]] = []
"""The event loop that is kept, if there is one."""


async def _collect_async(items: AsyncIterator[Any], run: AdapterInput, result: AdapterResult) -> None:
    async for item in items:
        result.add_item(item, run)


def _encode_line(message: dict[str, Any]) -> bytes:
    try:
        # Few results contain values that JSON cannot represent, so only those that fail to encode are walked
        # in Python.
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        text = json.dumps(replace_non_json(message), separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


def _send(out: LineWriter, line: bytes) -> None:
    out.write(line)
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
