"""`peer:strands`: Strands' model providers, and the message that `stream_messages()` builds of their events.

An `Agent` streams through the same function. Messages have the form of Bedrock Converse for every provider.
If the stream raises, the text so far is read from its events. The prompt and the tools of the request are
sent in the library's own form. Counts of the input include the cache where the provider's do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from botocore.eventstream import ParserError
from botocore.exceptions import ClientError
from strands.event_loop.streaming import stream_messages
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from streamconform.peers import request_reader
from streamconform.peers.anthropic import errors as anthropic_errors
from streamconform.peers.boto3 import converse
from streamconform.peers.boto3 import errors as boto3_errors
from streamconform.peers.boto3.events import aggregate_content, convert_block
from streamconform.peers.connection_errors import CONNECTION_ERRORS, describe_error, is_connection_lost
from streamconform.peers.normal_form import Error, ExceptionKeeper, build_outcome, get, subtract
from streamconform.peers.strands.models import MODEL_BUILDERS

STOP_REASONS: Final[Mapping[str, str]] = {**anthropic_errors.STOP_REASONS, **converse.STOP_REASONS}
"""Strands' own reasons are those of Bedrock; others are the provider's."""
INPUT_WITHOUT_CACHE: Final = ("anthropic-messages", "bedrock-converse")


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    chunks: list[Any] = []
    with ExceptionKeeper(_describe_error) as kept:
        asyncio.run(_collect(run, chunks))
    stop, message, usage, _ = next((event["stop"] for event in chunks if "stop" in event), [None] * 4)
    if message is None:
        content = aggregate_content(_number_blocks(chunks))
    else:
        content = [convert_block(block) for block in message["content"]]
        for call in [block for block in content if block["type"] == "tool_call"]:
            call["complete"] = stop != "max_tokens"  # an `Agent` runs no calls of an answer that was cut
    return build_outcome(
        content,
        STOP_REASONS.get(stop, "other") if stop else None,
        None,
        usage=_read_usage(usage or {}, run.api),
        error=kept.error,
    )


async def _collect(run: Any, events: list[Any]) -> None:
    """Append the events, including those before an exception."""
    tools = [
        {"name": name, "description": description or name, "inputSchema": {"json": dict(schema)}}
        for name, description, schema in request_reader.read_tools(run.request)
    ]
    messages = [{"role": "user", "content": [{"text": request_reader.read_prompt(run.request)}]}]
    async for event in stream_messages(MODEL_BUILDERS[run.api](run), None, messages, tools):
        events.append(dict(event))  # noqa: PERF401 - events before an exception must be kept


def _number_blocks(events: list[Any]) -> list[Any]:
    """Return the provider's events with the index of their block, which Strands leaves out."""
    numbered: list[Any] = []
    index = 0
    for chunk in [event["event"] for event in events if "event" in event]:
        kind = next(iter(chunk))
        if kind == "contentBlockStart" and not chunk[kind]["start"]:
            continue  # Bedrock has no such event for texts
        numbered.append({kind: {**chunk[kind], "contentBlockIndex": index}})
        index += kind == "contentBlockStop"
    return numbered


def _read_usage(usage: Mapping[str, int], api: str) -> dict[str, int | None] | None:
    """Return the usage buckets; Strands gives 0 if no usage was reported, and omits cache counts of 0."""
    if not any(usage.values()):
        return None
    caches = {"cache_read": "cacheReadInputTokens", "cache_write": "cacheWriteInputTokens"}
    cached = {bucket: usage[field] for bucket, field in caches.items() if field in usage}
    parts = () if api in INPUT_WITHOUT_CACHE else cached.values()
    return {
        "input": subtract(usage["inputTokens"], *parts),
        "output": usage["outputTokens"],
        **cached,
    }


def _describe_error(error: Exception) -> Error | None:
    if isinstance(error, (ModelThrottledException, ContextWindowOverflowException)) and isinstance(
        error.__cause__, Exception
    ):
        error = error.__cause__  # the provider's error
    if is_connection_lost(error) or isinstance(error, (*CONNECTION_ERRORS, *boto3_errors.CONNECTION_ERRORS)):
        return None
    if isinstance(error, (ClientError, ParserError)):
        return boto3_errors.describe_error(error)
    if isinstance(error, RuntimeError) and isinstance(get(error, "code"), str):  # of the Responses API
        return {"type": get(error, "code"), "message": str(error), "status": None}
    return describe_error(error)
