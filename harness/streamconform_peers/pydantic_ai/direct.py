"""`peer:pydantic-ai`: Pydantic AI's `direct.model_request_stream_sync()`, and the response that it builds.

`ModelAPIError` and its subclasses are the provider's errors, except `ModelConnectionError`, which is a lost
connection. The request's prompt and tools are sent in the library's own form. For a complete answer, a count
is reported as 0 if Pydantic AI returns 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_ai import ModelRequest
from pydantic_ai.direct import model_request_stream, model_request_stream_sync, model_request_sync
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from streamconform.adapters import request_reader
from streamconform.normal.pydantic_ai import convert_pydantic_ai_response
from streamconform_peers import control
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.pydantic_ai import messages
from streamconform_peers.pydantic_ai import settings as pydantic_ai_settings
from streamconform_peers.pydantic_ai.models import build_model, describe_error
from streamconform_peers.turns import join_outcomes, list_turns


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    conversation = run.conversation
    if conversation is None:
        prompt = ModelRequest.user_text_prompt(request_reader.read_prompt(run.request))
        return _run_model(run, [prompt], _build_tools(run), {})[0]
    history = messages.build_messages(conversation, run.api)
    tools = messages.build_tools(conversation)
    settings = pydantic_ai_settings.build_settings(conversation, run.api)
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        outcome, response = _run_model(run, history, tools, settings)
        outcomes.append(outcome)
        if turn is None or response is None:
            break
        history += [response, messages.build_turn_message(response, turn, conversation.get("system"))]
    return join_outcomes(outcomes)


def _build_tools(run: Any) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=name, description=description, parameters_json_schema=dict(schema))
        for name, description, schema in request_reader.read_tools(run.request)
    ]


def _run_model(
    run: Any, history: list[Any], tools: list[ToolDefinition], settings: Any
) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the response that a user of the library would send back."""
    options: dict[str, Any] = {
        "model_settings": settings,
        "model_request_parameters": ModelRequestParameters(
            function_tools=tools, **messages.build_output(run.conversation or {})
        ),
    }
    response: Any = None
    whole = False
    with ExceptionKeeper(describe_error) as kept:
        model = build_model(run)
        if (run.conversation or {}).get("stream") is False:
            response, whole = model_request_sync(model, history, **options), True
        elif control.has_control(run):
            return _run_async(run, lambda: model_request_stream(model, history, **options))
        else:
            with model_request_stream_sync(model, history, **options) as stream:
                try:
                    for _ in stream:
                        pass
                    whole = True
                finally:
                    response = stream.response
    return convert_pydantic_ai_response(response, ended=whole, error=kept.error), response


def _run_async(run: Any, open_stream: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """Return the same of an asynchronous stream: one client object has one event loop."""
    streams: list[Any] = []
    whole = False

    def get_response() -> Any:
        return streams[-1].get() if streams else None

    def build() -> dict[str, Any]:
        return convert_pydantic_ai_response(get_response(), ended=whole, error=kept.error)

    def enter() -> Any:
        return control.ContextStream(open_stream(), lambda stream, _: stream, "cancel")

    with ExceptionKeeper(describe_error) as kept:
        control.read(run, streams, build, None, enter)
        whole = not control.stops_early(run)
    return build(), get_response()
