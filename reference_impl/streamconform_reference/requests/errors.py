"""Requests that cannot be served: whose fault it is, and what is wrong, in no api's envelope yet."""

from __future__ import annotations

from typing import Final

INVALID: Final = "invalid_request_error"
"""The word of Anthropic and of OpenAI for a request that is not as it should be."""


class RefusedError(Exception):
    """A request that is not served. `type` is the client's api's word for what is wrong."""

    def __init__(self, status: int, type: str, message: str) -> None:  # noqa: A002 - the word of every api
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message


def invalid(message: str) -> RefusedError:
    """Return the refusal of a request that is not as it should be; the message names the field."""
    return RefusedError(400, INVALID, message)
