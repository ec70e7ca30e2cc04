"""Load TLS certificates when a connection first needs them, not when a client is created.

Over HTTP, every trial has its own base URL, so most adapters create one client per trial. HTTP libraries then
build a TLS context and parse the system's certificates, which takes 50 to 80 ms of CPU time, although the
replay server speaks plain HTTP on loopback. With this patch, a context remembers which certificates to load,
and loads them during the first handshake. Verification is never weakened: a client that connects elsewhere
over HTTPS loads its certificates and verifies them as usual.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

LOADERS: Final = ("load_verify_locations", "set_default_verify_paths")
"""Methods of `SSLContext` that read certificates from disk."""
USERS: Final = ("_wrap_socket", "_wrap_bio", "get_ca_certs", "cert_store_stats")
"""Methods that need the certificates; every handshake calls one of the first two."""
_PENDING: Final = "_streamconform_pending_loads"


def defer_certificate_loading() -> None:
    """Patch `ssl.SSLContext` in this process, which hosts an adapter; a second call has no effect."""
    if hasattr(ssl.SSLContext, _PENDING):
        return
    setattr(ssl.SSLContext, _PENDING, ())
    for name in LOADERS:
        setattr(ssl.SSLContext, name, _defer(getattr(ssl.SSLContext, name)))
    for name in USERS:
        setattr(ssl.SSLContext, name, _load_before(getattr(ssl.SSLContext, name)))


def _defer(load: Callable[..., None]) -> Callable[..., None]:
    @wraps(load)
    def remember(context: ssl.SSLContext, *arguments: Any, **options: Any) -> None:
        # A missing file must raise when the client is created, as it does without the patch.
        if not _is_on_disk(*arguments, **options):
            load(context, *arguments, **options)
            return
        pending = getattr(context, _PENDING)
        setattr(context, _PENDING, (*pending, (load, arguments, options)))

    return remember


def _load_before(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def load_and_call(context: ssl.SSLContext, *arguments: Any, **options: Any) -> Any:
        pending = getattr(context, _PENDING)
        if pending:
            for load, load_arguments, load_options in pending:
                load(context, *load_arguments, **load_options)
            setattr(context, _PENDING, ())
        return method(context, *arguments, **options)

    return load_and_call


def _is_on_disk(cafile: Any = None, capath: Any = None, cadata: Any = None) -> bool:
    """Return whether the certificates are existing files; others are loaded at once, which may raise."""
    if cadata is not None:
        return False
    try:
        return all(Path(path).exists() for path in (cafile, capath) if path is not None)
    except TypeError:
        return False
