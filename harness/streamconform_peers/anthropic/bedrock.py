"""`peer:anthropic-bedrock`: raw events of the Anthropic SDK's `AnthropicBedrock`, as in `peer:anthropic`.

A conversation goes through its tool runner, as in `peer:anthropic-helper`.
"""

from __future__ import annotations

from typing import Any

import anthropic
from botocore.eventstream import ParserError

from streamconform.normal.blocks import Error, get
from streamconform_peers.anthropic import errors
from streamconform_peers.anthropic.accumulated import answer_conversation
from streamconform_peers.anthropic.raw import read_answer
from streamconform_peers.library_call import describe_exception


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.create(stream=True)`, the non-streaming message or a conversation."""
    if run.conversation is not None:
        return answer_conversation(_get_client(run), run, _describe_error)
    return read_answer(
        run, _get_client(run), lambda: _get_client(run, anthropic.AsyncAnthropicBedrock), _describe_error
    )


def _get_client(run: Any, make: Any = anthropic.AnthropicBedrock) -> Any:
    return errors.get_client(run, make, aws_region="us-east-1")


def _describe_error(error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost.

    Bedrock's error responses name the exception in a header; the body is flat.
    """
    if isinstance(error, ParserError):
        return describe_exception(error) | {"type": "protocol"}
    details = errors.describe_error(error)
    if details is None or not isinstance(error, anthropic.APIStatusError):
        return details
    message = get(error.body, "message")
    return {
        **details,
        "type": details["type"] or error.response.headers.get("x-amzn-errortype"),
        "message": message if isinstance(message, str) else details["message"],
    }
