"""The program that hosts a peer's adapter, run by the Python of the peer's environment: `peer_host.py NAME`.

Streamconform is not installed there, and must not be: what it depends on would stand beside, or before, what
the library was installed with. Its package alone is made importable, from where this file lies; what the
host and the adapters import of it needs nothing else.
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
    """Serve the peer `name` on stdin and stdout; what it claims is in the table."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None, "it is a file of Python's"
    assert spec.loader is not None, "it is a file of Python's"
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE.name] = package
    spec.loader.exec_module(package)
    os.chdir(sys.prefix)  # the host imports from the current folder first: it may be the library's clone
    os.environ.pop("SSL_CERT_FILE", None)  # nothing is asked by TLS, and all certificates take 50 ms a client
    os.environ["SSL_CERT_DIR"] = sys.prefix  # where there are none
    from streamconform.adapters import host
    from streamconform.peers.table import PEERS

    peer = PEERS[name]
    module = f"{PACKAGE.name}.peers.{peer.module}"
    loaded: Any = importlib.import_module(module)
    adapter = loaded.adapter = _tidy(loaded.adapter)
    adapter.info = {
        "name": peer.name,
        "version": version(peer.distribution),
        "language": peer.language,
        "issues": peer.issues,
    }
    adapter.apis, adapter.inputs, adapter.capabilities = peer.apis, ("http",), peer.capabilities
    host.main(f"{module}:adapter")


def _tidy(adapter: Callable[[Any], dict[str, Any]]) -> Any:
    """Return the adapter with what it leaves behind collected after each run.

    A response that a library drops without closing it is closed when it is collected. Where that happens
    while the HTTP library holds its own lock, the thread waits for itself for ever (seen: litellm on httpcore
    after an error in a stream), so that one trial would hang for what another one left.
    """
    gc.collect()
    gc.freeze()  # what was imported is not looked at again and again

    @functools.wraps(adapter)
    def tidy(run: Any) -> dict[str, Any]:
        try:
            return adapter(run)
        finally:
            gc.collect()

    return tidy


if __name__ == "__main__":
    main(sys.argv[1])
