"""The adapter for a bug that a user planted in a file: `plant:FILE` (docs/plant.md).

The file defines one of these names, and may limit its bug to some APIs with `apis = ["openai-chat"]`:

- `change_outcome(outcome)` changes the reference's outcome in place, or returns another one.
- `change_chunks(chunks)` returns the chunks that the reference reads instead.
- `decoders` maps APIs to the decoders that replace the reference's.
- `adapter(run)` is any parser, such as a wrapper around one's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from streamconform_reference.adapter import (
    WEBSOCKET,
    Adapter,
    BytesRun,
    adapter,
    adapter_for,
    find_lane,
)
from streamconform_reference.apis import DECODERS, DOCUMENT_READERS
from streamconform_reference.decoding.decoder import Decoder
from streamconform_reference.outcome import Json

from .every_api import describe_without_events


def load(path: str) -> Adapter:
    """Return the adapter with the bug in the file at `path`.

    Raises:
        ValueError: the file names an unknown API.
        Exception: whatever the file raises.
    """
    module = _import_file(path)
    name = f"plant:{path}"
    members = vars(module)
    if "adapter" in members:
        planted: Adapter = module.adapter
        return planted
    if "decoders" in members:
        decoders: Mapping[str, type[Decoder]] = module.decoders
        readers = {api: DOCUMENT_READERS[api] for api in _check_apis(path, decoders)}
        claimed = [WEBSOCKET] if any(map(_reads_sockets, decoders.values())) else []
        return adapter_for(decoders, documents=readers, name=name, claimed=claimed)
    apis = _check_apis(path, members.get("apis", tuple(DECODERS)))
    broken: Callable[[Any], Iterator[Json]]
    if "change_chunks" in members:
        change: Callable[[Any], Any] = module.change_chunks
        broken = _read_changed_chunks(change)
    else:
        change = module.change_outcome
        broken = _change_outcome(change)
    # An exception in the function is a mistake in the file, because the harness takes it for the adapter.
    vars(broken)["__wrapped__"] = change
    return describe_without_events(broken, name, apis)


def __getattr__(name: str) -> Adapter:
    if name.startswith("__"):
        raise AttributeError(name)
    return load(unquote(name))  # in a target, the path has no colon


def _reads_sockets(decoder: type[Decoder]) -> bool:
    """Return whether the bug is in how `decoder` reads a WebSocket."""
    return decoder.socket_framing_factory is not Decoder.socket_framing_factory


def _change_outcome(change: Callable[[Json], Json | None]) -> Callable[[Any], Iterator[Json]]:
    def broken(run: Any) -> Iterator[Json]:
        *_, last = adapter(run)
        changed = change(last["outcome"])
        yield {"outcome": last["outcome"] if changed is None else changed}

    return broken


def _read_changed_chunks(change: Callable[[Any], Any]) -> Callable[[Any], Iterator[Json]]:
    def broken(run: Any) -> Iterator[Json]:
        chunks = tuple(change(run.chunks))
        given = (run.api, run.status, run.headers, run.pricing, chunks, run.stream, find_lane(run))
        *_, last = adapter(BytesRun(*given))
        yield last

    return broken


def _check_apis(path: str, apis: Any) -> tuple[str, ...]:
    """Return the APIs of the file at `path`. Raises `ValueError` for an unknown one."""
    unknown = sorted({*apis} - DECODERS.keys())
    if unknown:
        raise ValueError(f"{path}: unknown API `{unknown[0]}`; expected one of {', '.join(DECODERS)}")
    return tuple(apis)


def _import_file(path: str) -> ModuleType:
    name = f"streamconform_plant_{Path(path).stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None, "the file's name ends in .py"
    assert spec.loader is not None, "a file has a loader"
    # Registered before it runs, because `dataclasses` looks up a class's module by name.
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
