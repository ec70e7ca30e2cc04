"""Errors for requests that cannot be served: status, type and message, without an API's envelope."""

from __future__ import annotations

from typing import Final

INVALID: Final = "invalid_request_error"
"""The error type for an invalid request in Anthropic's and OpenAI's APIs."""


class RequestError(Exception):
    """A request cannot be served. `type` is an error type of the client's API."""

    def __init__(self, status: int, type: str, message: str) -> None:  # noqa: A002 - the field name in every API
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message


def invalid_request(message: str) -> RequestError:
    """Return the error for an invalid request; the message names the field."""
    return RequestError(400, INVALID, message)
