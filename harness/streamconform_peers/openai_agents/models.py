"""`peer:openai-agents`: `stream_response()` of the model classes in OpenAI's Agents SDK.

Both classes yield events of the Responses API. As in `Runner`, the answer is the output in the
`response.completed` event or, if that is empty, the items completed before it. The request's prompt and tools
are sent in the library's own form. A conversation goes through `Runner`, which asks the same classes.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from agents import (
    FunctionTool,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    OpenAIResponsesWSModel,
)
from agents.models.interface import ModelTracing
from agents.models.openai_responses import ResponsesWebSocketError
from openai import AsyncOpenAI

from streamconform.adapters import request_reader
from streamconform.normal.blocks import Error
from streamconform_peers import control, openai_errors
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper
from streamconform_peers.openai_agents.answers import build_answer
from streamconform_peers.openai_agents.runner import converse
from streamconform_peers.turns import list_turns

MODELS: Final = {
    ("openai-chat", "http"): OpenAIChatCompletionsModel,
    ("openai-responses", "http"): OpenAIResponsesModel,
    ("openai-responses", "websocket"): OpenAIResponsesWSModel,
}
"""The class for each API and transport."""
SETTINGS: Final = ModelSettings(include_usage=True)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    answers: list[list[Any]] = []
    with ExceptionKeeper(describe_error) as kept:
        if control.has_control(run):
            answers.append([])
            control.read(
                run,
                answers[-1],
                lambda: build_answer(run.api, answers[-1], kept),
                None,
                lambda: _stream(run, _get_model(run)),
            )
        else:
            asyncio.run(_collect(run, answers))
    last = build_answer(run.api, answers[-1] if answers else [], kept)
    if len(answers) < 2:
        return last
    return {"first": build_answer(run.api, answers[0], ExceptionKeeper()), "outcome": last}


async def _collect(run: Any, answers: list[list[Any]]) -> None:
    """Append the events of each answer, including those before an exception."""
    # One client per run, because its connections belong to the event loop, and every run has its own.
    async with _build_client(run) as client:
        model = MODELS[run.api, run.transport](run.model, client)
        if run.conversation is not None:
            await converse(model, run, list_turns(run), answers)
            return
        answers.append([])
        async for event in _stream(run, model):
            answers[-1].append(event)


def _build_client(run: Any) -> AsyncOpenAI:
    retries = control.turn_off_retries(run, max_retries=0)
    name = "base_url" if run.transport == "http" else "websocket_base_url"
    address = {name: f"{run.base_url}/v1"}
    return AsyncOpenAI(**address, api_key=run.api_key, timeout=TIMEOUT_SECONDS, **retries)


@control.keep_by_run
def _get_model(run: Any) -> Any:
    """Return the model that answers a run with `control`, on the loop of all such runs."""
    return MODELS[run.api, run.transport](run.model, _build_client(run))


def _stream(run: Any, model: Any) -> Any:
    return model.stream_response(
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
    )


def _build_tool(name: str, description: str, schema: Any) -> FunctionTool:
    # Strict mode would rewrite the schema.
    return FunctionTool(name, description, dict(schema), _refuse, strict_json_schema=False)


def describe_error(error: Exception) -> Error | None:
    """Return the error in an exception; over a WebSocket, the library has a class of its own.

    Only `payload` has the fields of an error that is flat, as in a stream over HTTP.
    """
    if not isinstance(error, ResponsesWebSocketError):
        return openai_errors.describe_error(error)
    kind = error.code or error.error_type or error.payload.get("code")
    message = error.error_message or error.payload.get("message")
    return {"type": kind, "message": message, "status": error.payload.get("status")}


async def _refuse(context: Any, arguments: str) -> str:
    """Stand in for a tool, which is never called: models do not run tools, only `Runner` does."""
    raise NotImplementedError(context, arguments)
