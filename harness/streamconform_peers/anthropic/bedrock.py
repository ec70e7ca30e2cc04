"""`peer:anthropic-bedrock`: raw events of the Anthropic SDK's `AnthropicBedrock`, as in `peer:anthropic`.

A conversation goes through its tool runner, as in `peer:anthropic-helper`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import anthropic
from botocore.eventstream import ParserError

from streamconform_peers.anthropic import errors
from streamconform_peers.anthropic.accumulated import answer_conversation
from streamconform_peers.anthropic.raw import read_answer
from streamconform_peers.normal_form import TIMEOUT_SECONDS, Error, describe_exception, get


@cache
def _get_shared_client() -> anthropic.AnthropicBedrock:
    return anthropic.AnthropicBedrock(
        api_key="none", aws_region="us-east-1", max_retries=0, timeout=TIMEOUT_SECONDS
    )


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.create(stream=True)`, the non-streaming message or a conversation."""
    client = _get_shared_client().with_options(base_url=run.base_url, api_key=run.api_key)
    if run.conversation is not None:
        return answer_conversation(client, run, _describe_error)
    return read_answer(client, run, _describe_error)


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
