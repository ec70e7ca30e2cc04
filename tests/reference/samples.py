"""The authored streams of every api."""

from __future__ import annotations

from collections.abc import Mapping

from . import openai_chat_streams, openai_responses_streams, streams

SAMPLES: Mapping[str, Mapping[str, bytes]] = {
    "anthropic-messages": streams.STREAMS,
    "openai-chat": openai_chat_streams.STREAMS,
    "openai-responses": openai_responses_streams.STREAMS,
}
