"""Build the body of `POST /model/{modelId}/invoke-with-response-stream` from a conversation.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html

The body is an Anthropic Messages body plus `anthropic_version`. The path, not the body, names the model and
says whether to stream, because the service rejects fields that it does not know.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from streamconform_reference.apis.anthropic_messages.request import OPTIONS as ANTHROPIC_OPTIONS
from streamconform_reference.apis.anthropic_messages.request import build_body
from streamconform_reference.requests.conversation import Conversation
from streamconform_reference.requests.options import Request, format_bearer, is_streamed, make_request

API: Final = "bedrock-invoke"
VERSION: Final = "bedrock-2023-05-31"
# The tier is a header, and the service's own logs take the place of the metadata.
_ELSEWHERE: Final = ("stream", "service_tier", "session", "user")
OPTIONS: Final = tuple(option for option in ANTHROPIC_OPTIONS if option.name not in _ELSEWHERE)


def build_request(conversation: Conversation) -> Request:
    """Return the request for a conversation."""
    operation = "invoke-with-response-stream" if is_streamed(conversation) else "invoke"
    path = f"/model/{quote(conversation['model'], safe='')}/{operation}"
    body = {"anthropic_version": VERSION, **build_body(conversation, API, OPTIONS)}
    return make_request(path, body, authorization=format_bearer())
