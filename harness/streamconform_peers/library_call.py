"""What all clients of libraries need: a timeout, and a place for the exceptions that they raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self

from streamconform.normal.blocks import Error

TIMEOUT_SECONDS: Final = 8.0
"""Timeout set on every client. It is shorter than a trial's timeout, so it fires first."""


def describe_exception(error: BaseException) -> Error:
    """Return the error for an exception that the library raised while reading an answer.

    Libraries reject bytes that they cannot parse with a `ValueError` (`JSONDecodeError` and pydantic's
    `ValidationError` derive from it). In the normal form, such errors have the type `protocol`; for any other
    exception, the type is its class name.
    """
    kind = "protocol" if isinstance(error, ValueError) else type(error).__name__
    return {"type": kind, "message": str(error)[:2000], "status": None}


_kept: list[BaseException] = []
# A peer's host performs one run at a time, so the exception need not be passed through every function.


def keep_exception(error: BaseException) -> None:
    """Add `error`, the exception that the library raised, to the result of this run."""
    _kept.append(error)


def take_exception() -> BaseException | None:
    """Return the last exception that was stored during the run, and discard all of them."""
    last = _kept[-1] if _kept else None
    _kept.clear()
    return last


class ExceptionKeeper:
    """Keep the exception that ends a `with` block, so that the content read before it is not lost.

    `exception` is the exception itself, and `error` is what `describe` returns for it.
    """

    def __init__(self, describe: Callable[[Exception], Error | None] = describe_exception) -> None:
        self._describe = describe
        self.exception: Exception | None = None
        self.error: Error | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, exception: BaseException | None, __: object) -> bool:
        if not isinstance(exception, Exception):
            return False
        keep_exception(exception)
        self.exception, self.error = exception, self._describe(exception)
        return True
