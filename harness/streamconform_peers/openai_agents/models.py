"""`peer:openai-agents`: `stream_response()` of the model classes in OpenAI's Agents SDK.

Both classes yield events of the Responses API. As in `Runner`, the answer is the output in the
`response.completed` event or, if that is empty, the items completed before it. The request's prompt and tools
are sent in the library's own form.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from agents import FunctionTool, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agents.models.interface import ModelTracing
from openai import AsyncOpenAI

from streamconform.adapters import request_reader
from streamconform_peers.normal_form import TIMEOUT_SECONDS, ExceptionKeeper
from streamconform_peers.openai_errors import describe_error
from streamconform_peers.response_events import build_result

MODELS: Final = {"openai-chat": OpenAIChatCompletionsModel, "openai-responses": OpenAIResponsesModel}
SETTINGS: Final = ModelSettings(include_usage=True)
ZERO_IF_UNKNOWN: Final = ("cache_read", "cache_write", "reasoning")
"""Buckets that the library reports as 0 for Chat Completions if the provider does not count them."""


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    events: list[Any] = []
    with ExceptionKeeper(describe_error) as kept:
        asyncio.run(_collect(run, events))
    completed = next((event.response for event in events if event.type == "response.completed"), None)
    outcome = build_result(events, completed if completed and completed.output else None, kept)
    if run.api == "openai-chat":  # the library returns the requested model, and a constant as the id
        del outcome["model"], outcome["response_id"]
        usage = outcome["usage"] or {}
        outcome["usage"] = {
            name: count for name, count in usage.items() if count or name not in ZERO_IF_UNKNOWN
        }
    return outcome


async def _collect(run: Any, events: list[Any]) -> None:
    """Append the model's events, including those before an exception."""
    # One client per run, because its connections belong to the event loop, and every run has its own.
    async with AsyncOpenAI(
        base_url=f"{run.base_url}/v1", api_key=run.api_key, max_retries=0, timeout=TIMEOUT_SECONDS
    ) as client:
        async for event in MODELS[run.api](run.model, client).stream_response(
            None,
            request_reader.read_prompt(run.request),
            SETTINGS,
            [_build_tool(*tool) for tool in request_reader.read_tools(run.request)],
            None,
            [],
            ModelTracing.DISABLED,
            previous_response_id=None,
            conversation_id=None,
            prompt=None,
        ):
            events.append(event)  # noqa: PERF401 - events before an exception must be kept


def _build_tool(name: str, description: str, schema: Any) -> FunctionTool:
    # Strict mode would rewrite the schema.
    return FunctionTool(name, description, dict(schema), _refuse, strict_json_schema=False)


async def _refuse(context: Any, arguments: str) -> str:
    """Stand in for a tool, which is never called: models do not run tools, only `Runner` does."""
    raise NotImplementedError(context, arguments)
