"""Distinguish exceptions raised by the library from those raised by the adapter, and describe them.

An adapter needs no `except`: the traceback already shows what a user of the library would see. This module
also runs in a peer's environment, so it imports nothing but the standard library.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Any, Final

MAX_MESSAGE: Final = 500
"""The maximum number of characters to pass on from an exception's message."""
TRANSPORTS: Final = frozenset(
    {
        *("aiohttp", "anyio", "h11", "h2", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3"),
        *("websocket", "websockets", "wsproto"),
    }
)
"""Libraries for HTTP and WebSockets. Their frames show only that a read failed, so their caller's nearest
frame is reported.
"""
NETWORK_ERRORS: Final = (("http.client", "HTTPException"), ("asyncio", "IncompleteReadError"))
"""The module and name of each network error in the standard library, other than `OSError`."""
FILE_ERRORS: Final = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
"""Subclasses of `OSError` that connections never raise."""

OWN_PACKAGES: Final = ("streamconform", "streamconform_capture", "streamconform_peers")
"""The packages whose code is never a library under test: the harness, its clients of proxies, and adapters.
The reference parser, in a folder beside them, is one.
"""
_OWN_FOLDERS: Final = tuple(f"{Path(__file__).resolve().parents[2] / name}{os.sep}" for name in OWN_PACKAGES)
_LIBRARY_FOLDERS: Final = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})

Frame = tuple[FrameType, int]
"""A frame and its line number."""


def _list_network_errors() -> tuple[type[BaseException], ...]:
    # If one was raised, its module is already imported; importing it here would slow down every start.
    known = ((sys.modules.get(module), name) for module, name in NETWORK_ERRORS)
    return (OSError, *(getattr(module, name) for module, name in known if module is not None))


def find_library_exception(
    error: BaseException, adapter: Callable[..., Any], *, over_http: bool
) -> BaseException | None:
    """Return the exception that the library raised, or None if `error` is the adapter's own.

    The library raised it if a frame after the last one in the adapter's file lies outside the standard
    library. An exception without such a frame is the library's if the library defines its class, as extension
    modules do. If the adapter is an HTTP client, so are the standard library's network errors, and
    `NotImplementedError`. An exception that the adapter raised `from` another one is the library's if the
    other one is.
    """
    current: BaseException | None = _unwrap_group(error)
    own_file = find_own_file(adapter)
    # The client of a proxy under test is the harness's own; it raises an exception class of ours.
    while current is not None and type(current).__module__.partition(".")[0] not in OWN_PACKAGES:
        frames = _list_frames_after_adapter(current, own_file)
        if any(_is_library(frame) for frame, _ in frames) or _is_class_of_library(current, adapter):
            return current
        if over_http and isinstance(current, _list_network_errors()) and not isinstance(current, FILE_ERRORS):
            return current
        # An adapter says with it that the library cannot send the request (docs/adapters.md).
        if over_http and isinstance(current, NotImplementedError):
            return current
        # Only an explicit `from` counts: `__context__` is also set if an adapter fails while it handles an
        # exception.
        current = current.__cause__
    return None


def describe_raised(error: BaseException, adapter: Callable[..., Any]) -> dict[str, str | None]:
    """Return the `raised` field of a result: class, message and the innermost frame inside the library."""
    error = _unwrap_group(error)
    cause = error.__cause__
    source = f" (from {_format_type(type(cause))})" if cause and type(cause) is not type(error) else ""
    frames = _list_frames_after_adapter(error, find_own_file(adapter))
    library = [frame for frame in frames if _is_library(frame[0])]
    # The innermost frame would be in httpx or httpcore for most clients, and would not locate the bug.
    client = [frame for frame in library if _get_package(frame[0]) not in TRANSPORTS]
    # The adapter's own frame, if it reports what the library cannot do.
    stated = [*walk_tb(error.__traceback__)] if isinstance(error, NotImplementedError) else []
    innermost = next((group[-1] for group in (client, library, frames, stated) if group), None)
    return {
        "type": _format_type(type(error)),
        "message": _get_message(error)[: MAX_MESSAGE - len(source)] + source,
        "where": None if innermost is None else _format_frame(*innermost),
    }


def find_own_file(adapter: Callable[..., Any]) -> str | None:
    """Return the file that defines `adapter`, as named in its frames."""
    function: Any = inspect.unwrap(adapter)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return code.co_filename if isinstance(code, CodeType) else None


def _unwrap_group(error: BaseException) -> BaseException:
    """Return the exception in a group that has only one: a task group wraps even a single failure."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _list_frames_after_adapter(error: BaseException, own_file: str | None) -> list[Frame]:
    """Return the traceback's frames after the last one in the adapter or in our packages."""
    frames = list(walk_tb(error.__traceback__))
    own = [i for i, (frame, _) in enumerate(frames) if _is_own(frame.f_code.co_filename, own_file)]
    return frames[own[-1] + 1 :] if own else frames


def _is_own(file: str, own_file: str | None) -> bool:
    return file == own_file or file.startswith(_OWN_FOLDERS)


def _is_library(frame: FrameType) -> bool:
    """Return whether a frame belongs neither to the standard library nor to generated code."""
    return _is_library_file(frame.f_code.co_filename)


@functools.cache
def _is_library_file(file: str) -> bool:
    if file.startswith("<"):  # `<frozen importlib._bootstrap>`, or the `<string>` of a generated method
        return False
    path = Path(file)
    # Checked before the standard library, whose folder contains `site-packages`.
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return not any(
        # Also resolved, because a virtual environment's interpreter may be a symbolic link.
        place.is_relative_to(folder)
        for place in (path, path.resolve())
        for folder in _LIBRARY_FOLDERS
    )


def _is_class_of_library(error: BaseException, adapter: Callable[..., Any]) -> bool:
    module = type(error).__module__
    package = module.partition(".")[0]
    own = {"__main__", *OWN_PACKAGES}
    # The adapter may be part of the library's package, so only its own module counts.
    return package not in sys.stdlib_module_names | own and module != getattr(adapter, "__module__", None)


def _get_package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _format_type(kind: type[BaseException]) -> str:
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package in ("builtins", "__main__") else f"{package}.{kind.__qualname__}"


def _get_message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a library's `__str__` can raise anything
        return ""


def _format_frame(frame: FrameType, line: int) -> str:
    """Return `package/module.py:12 in function`, which does not depend on where the package is installed."""
    path = Path(frame.f_code.co_filename)
    module = str(frame.f_globals.get("__name__", ""))
    folders = module.count(".") + (path.stem == "__init__")
    return f"{'/'.join(path.parts[-folders - 1 :])}:{line} in {frame.f_code.co_name}"


def convert_raised(value: Any, adapter: Callable[..., Any]) -> Mapping[str, Any] | None:
    """Convert the exception that an adapter reported, or its description of one, to the `raised` field."""
    return describe_raised(value, adapter) if isinstance(value, BaseException) else value
