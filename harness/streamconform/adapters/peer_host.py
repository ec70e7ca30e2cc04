"""Host a peer's adapter, run by the Python of the peer's environment: `peer_host.py NAME`.

Streamconform is not installed in that environment and must not be: its dependencies could replace the
versions that the library was installed with. This program makes only the package itself importable, from
its own location; the host and the adapters import nothing of it that needs a dependency.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = Path(__file__).resolve().parents[1]


def main(name: str) -> None:
    """Serve the peer `name` on stdin and stdout, with the capabilities of its entry in `PEERS`."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None, "the location is a Python file"
    assert spec.loader is not None, "the location is a Python file"
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE.name] = package
    spec.loader.exec_module(package)
    # The host imports from the current folder first, which may be a clone of the library under test.
    os.chdir(sys.prefix)
    # No request uses TLS, and loading all certificates takes 50 ms per client: point at a folder without any.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = sys.prefix
    from streamconform.adapters import host
    from streamconform.peers.table import PEERS

    peer = PEERS[name]
    module = f"{PACKAGE.name}.peers.{peer.module}"
    loaded: Any = importlib.import_module(module)
    adapter = loaded.adapter = _collect_after_each_run(loaded.adapter)
    adapter.info = {
        "name": peer.name,
        "version": version(peer.distribution),
        "language": peer.language,
        "issues": peer.issues,
    }
    adapter.apis, adapter.inputs, adapter.capabilities = peer.apis, ("http",), peer.capabilities
    host.main(f"{module}:adapter")


def _collect_after_each_run(adapter: Callable[[Any], dict[str, Any]]) -> Any:
    """Return `adapter` with a garbage collection after each run.

    A response that a library drops without closing is closed by the garbage collector. If that happens while
    the HTTP library holds its own lock, the thread deadlocks (seen with litellm on httpcore after an error in
    a stream), and one trial hangs because of an earlier one.
    """
    gc.collect()
    gc.freeze()  # exclude everything imported so far from later collections

    @functools.wraps(adapter)
    def run_and_collect(run: Any) -> dict[str, Any]:
        try:
            return adapter(run)
        finally:
            gc.collect()

    return run_and_collect


if __name__ == "__main__":
    main(sys.argv[1])
