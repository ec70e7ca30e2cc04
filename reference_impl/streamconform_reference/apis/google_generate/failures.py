"""Gemini's names for errors and failed answers.

Source: https://cloud.google.com/apis/design/errors, https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.outcome import Error

from .reasons import STOP_REASONS

_ERRORS: Final[Mapping[str, int]] = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNKNOWN": 500,
    "DATA_LOSS": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""The HTTP status of each error name."""
_OVERLOADED: Final = 529  # only Anthropic uses it
_BY_STATUS: Final = {
    _OVERLOADED: "UNAVAILABLE",
    **{status: word for word, status in reversed([*_ERRORS.items()])},
}


def is_finish_reason(error: Error | None) -> bool:
    """Whether an error is a `finishReason` that names a failure."""
    return error is not None and error.status is None and STOP_REASONS.get(error.type or "") == "error"


def encode_error(error: Error) -> Error:
    """Return the error with Gemini's name for it, and with all three fields set."""
    if is_finish_reason(error):
        return error
    own_type = error.type if error.type in _ERRORS else None
    kind = own_type or _BY_STATUS.get(error.status or 0, "UNKNOWN")
    return Error(kind, error.message or kind, error.status or _ERRORS[kind])
