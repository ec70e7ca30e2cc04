"""The exception that a library raised, or the error that it reported, as stored in the results. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from streamconform.model.result import TrialResult
from streamconform.printable import collapse_variables, escape_line


class ExceptionRecord(Struct, frozen=True):
    """An exception: its type, message, and innermost frame inside the library."""

    type: str
    message: str
    where: str

    @property
    def key(self) -> tuple[str, str]:
        """Return the type and the location or, if that is unknown, the message without its variable parts."""
        return self.type, self.where or collapse_variables(self.message)


def read_raised(result: TrialResult) -> ExceptionRecord | None:
    """Return the exception that the library raised in this trial, or None."""
    return parse_raised((result.observation or {}).get("raised"))


def parse_raised(value: Any) -> ExceptionRecord | None:
    """Return the exception in a value from a results file, or None if it contains none."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    message, where = value.get("message"), value.get("where")
    return ExceptionRecord(
        value["type"], message if isinstance(message, str) else "", where if isinstance(where, str) else ""
    )


def format_raised(raised: ExceptionRecord) -> str:
    """Return `JSONDecodeError: Expecting value (mylib/stream.py:12)` on one line."""
    message = f": {escape_line(raised.message, 300)}" if raised.message else ""
    where = f" ({escape_line(raised.where, 160)})" if raised.where else ""
    return f"{escape_line(raised.type, 120)}{message}{where}"


def describe_error(result: TrialResult) -> list[str]:
    """Return the line about the exception that the library raised, or about the error that it reported."""
    raised = read_raised(result)
    if raised is not None:
        return [f"raised {format_raised(raised)}"]
    outcome = (result.observation or {}).get("outcome")
    error = outcome.get("error") if isinstance(outcome, dict) else None
    text = format_error(error)
    return [f"error: {text}"] if text else []


def format_error(error: Any) -> str:
    """Return an outcome's `error` on one line, as in `500 server_error: Something went wrong`."""
    if not isinstance(error, dict):
        return ""
    status, type_, message = (error.get(name) for name in ("status", "type", "message"))
    head = " ".join(escape_line(str(word), 120) for word in (status, type_) if word is not None)
    text = escape_line(str(message), 300) if message is not None else ""
    return f"{head}: {text}" if head and text else head or text
