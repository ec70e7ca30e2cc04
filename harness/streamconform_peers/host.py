"""Host a peer's adapter, run by the Python in the peer's environment: `host.py MODULE HELLO`.

Streamconform is not installed in that environment, because its dependencies could replace the versions that
the library was installed with. Only two packages are made importable, from the folder of this one; the
modules that the host and the adapters import have no dependencies. So `peer.yaml` cannot be read there, and
`HELLO` is what the peer says about itself, in JSON.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("streamconform", "streamconform_peers")
# A full collection after every run took a quarter of the total time in runs with peers.
RUNS_PER_FULL_COLLECTION: Final = 100


def main(module_name: str, hello: Mapping[str, Any]) -> None:
    """Serve a peer on stdin and stdout: the adapter in the module, with its claims from `hello`."""
    for package in PACKAGES:
        _make_importable(FOLDER / package)
    # The host imports from the current folder first, which may be a clone of the library.
    os.chdir(sys.prefix)
    from streamconform.adapters import host
    from streamconform.adapters.deferred_certificates import defer_certificate_loading
    from streamconform_peers.control import answer_each
    from streamconform_peers.library_call import take_exception

    defer_certificate_loading()  # before the adapter's module, which may create a client
    module: Any = importlib.import_module(module_name)
    answering = _add_exception(answer_each(module.adapter), take_exception)
    adapter = module.adapter = _collect_between_runs(answering)
    adapter.info = {
        "name": hello["name"],
        "version": version(hello["package"]),
        "language": "python",
        "issues": hello["issues"],
    }
    adapter.apis, adapter.inputs, adapter.capabilities = tuple(hello["apis"]), ("http",), hello["apis"]
    adapter.vendor, adapter.lacks = hello["vendor"], hello["lacks"]
    host.main(f"{module_name}:adapter")


def _make_importable(package: Path) -> None:
    """Make one package importable, and nothing else that lies beside it."""
    spec = importlib.util.spec_from_file_location(
        package.name, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None, "the path ends in .py"
    assert spec.loader is not None, "the path ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[package.name] = module
    spec.loader.exec_module(module)


def _add_exception(
    adapter: Callable[[Any], dict[str, Any]], take_exception: Callable[[], BaseException | None]
) -> Callable[[Any], dict[str, Any]]:
    """Return the adapter, wrapped so that its result reports the exception it caught as `raised`."""

    @functools.wraps(adapter)
    def describing_adapter(run: Any) -> dict[str, Any]:
        take_exception()  # an earlier run may have stored one and then failed
        result = adapter(run)
        raised = take_exception()
        if raised is None:
            return result
        has_outcome = "outcome" in result or "outcomes" in result
        return (result if has_outcome else {"outcome": result}) | {"raised": raised}

    return describing_adapter


def _collect_between_runs(adapter: Callable[[Any], dict[str, Any]]) -> Any:
    """Return the adapter, wrapped so that garbage collection happens only between runs.

    A response that a library drops without closing is closed by garbage collection. If that happens while
    the HTTP library holds its own lock, the thread deadlocks (seen with litellm on httpcore after an error in
    a stream), so one trial would hang because of an earlier one. Objects that survive two collections are
    examined only once every `RUNS_PER_FULL_COLLECTION` runs, because examining all of them takes longer than
    a run.

    An abort must not need garbage collection, which may come much later: what it leaves is never collected.
    What the reader only abandons may need it, and is examined in this run and the next two: a thread of the
    library may still hold it.
    """
    gc.disable()
    gc.collect()
    gc.freeze()  # keeps the imported modules out of every later collection
    runs = itertools.count(1)
    examined: list[int] = []
    """The numbers of the runs after which all objects are examined."""

    @functools.wraps(adapter)
    def collecting_adapter(run: Any) -> dict[str, Any]:
        try:
            return adapter(run)
        finally:
            number = next(runs)
            stop = (run.control or {}).get("stop")
            if stop == "abandon":
                examined[:] = range(number, number + 3)
            if stop in ("abort", "cancel"):
                gc.freeze()
            else:
                gc.collect(2 if number in examined or number % RUNS_PER_FULL_COLLECTION == 0 else 1)

    return collecting_adapter


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
