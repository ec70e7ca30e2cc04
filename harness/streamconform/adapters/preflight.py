"""Find implementations that cannot start, without starting or importing anything.

Reading the suite takes seconds, so a mistyped name is reported before that. A check reports only what is
certain; everything else is left to the start, which has the last word.
"""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Final

from streamconform.adapters import host
from streamconform.adapters.connect import Connection, connect, connect_command, get_python_target
from streamconform.errors import ImplementationError

REFERENCE: Final = "reference"
PATH_CHANGES: Final = (b"__path__", b"sys.modules", b"meta_path")
"""A package whose code mentions one of these may make modules importable that have no file."""


def make_connections(impls: Sequence[str], program: tuple[str, ...] = ()) -> tuple[Connection, ...]:
    """Return the connections to `impls` and to `program`, a command line; to the reference if both are empty.

    Raises `UsageError`, and `ImplementationError` if one certainly cannot be started.
    """
    if not program:
        return tuple(map(connect_startable, impls or (REFERENCE,)))
    connection = connect_command(program)
    check_startable(connection)
    return (*map(connect_startable, impls), connection)


def connect_startable(impl: str) -> Connection:
    """Return the connection for an `--impl` value. Raises the exceptions of `make_connections`."""
    connection = connect(impl)
    if impl != REFERENCE:  # the bundled parser, whose entry point takes longer to find than a trial to run
        check_startable(connection)
    return connection


def check_startable(connection: Connection) -> None:
    """Raise `ImplementationError` if the program or the Python module of `connection` does not exist."""
    target = get_python_target(connection)
    if target is not None:
        reason = _explain_missing_target(target)
        if reason is not None:
            raise ImplementationError(f"`{connection.impl}` cannot be used: {reason}")
    elif shutil.which(connection.argv[0]) is None:
        found = os.path.exists(connection.argv[0])  # noqa: PTH110 - unlike `Path.exists`, accepts any string
        code = errno.EACCES if found else errno.ENOENT
        raise make_start_error(connection, OSError(code, os.strerror(code)))


def make_start_error(connection: Connection, error: OSError | ValueError) -> ImplementationError:
    """Return the exception for a program that the system cannot start."""
    reason = getattr(error, "strerror", None) or str(error)
    return ImplementationError(f"`{connection.impl}` cannot be started: `{connection.argv[0]}`: {reason}")


def find_missing_module(name: str) -> str | None:
    """Return the first part of the dotted `name` that is no module, or None if there may be such a module."""
    importlib.invalidate_caches()  # they may be older than the module
    parts = name.split(".")
    path: list[str] | None = None
    for count in range(1, len(parts) + 1):
        part = ".".join(parts[:count])
        try:
            spec = _find_spec(part, path)
        except Exception:  # noqa: BLE001 - a finder of another project may raise anything
            return None
        if spec is None:
            return part
        if count < len(parts) and _may_add_modules(spec):
            return None
        path = list(spec.submodule_search_locations or ())
    return None


def _explain_missing_target(target: str) -> str | None:
    """Return why the host cannot load `target`, or None if it may be able to."""
    module = target.rpartition(":")[0]
    if module.endswith(".py"):
        return None if Path(module).is_file() else host.explain_missing_file(module)
    missing = find_missing_module(module or host.get_adapter_module(target))
    if missing is None or (not module and _has_entry_point(target)):
        return None
    return host.explain_missing_module(target, missing)


def _find_spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        # The host searches the current folder first; this process may not search it at all.
        is_top_level = path is None and finder is PathFinder
        spec = finder.find_spec(name, [str(Path.cwd()), *sys.path] if is_top_level else path)
        if spec is not None:
            return spec
    return None


def _may_add_modules(spec: ModuleSpec) -> bool:
    if spec.origin is None:  # a namespace package, which has no code
        return False
    if not spec.origin.endswith(".py"):
        return True
    code = Path(spec.origin).read_bytes()
    return any(word in code for word in PATH_CHANGES)


def _has_entry_point(name: str) -> bool:
    from importlib import metadata  # slow to import, and most names are modules

    # `entry_points` searches `sys.path`, as the host does, but the host's begins with the current folder.
    local = (
        point for found in metadata.distributions(path=[str(Path.cwd())]) for point in found.entry_points
    )
    points = (*metadata.entry_points(group=host.GROUP), *local)
    return any(point.group == host.GROUP and point.name == name for point in points)
