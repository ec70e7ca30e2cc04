"""`peer:pydantic-ai`: Pydantic AI's `direct.model_request_stream_sync()`, and the response that it builds.

`ModelAPIError` and its subclasses are the provider's errors, except `ModelConnectionError`, which is a lost
connection. The request's prompt and tools are sent in the library's own form. For a complete answer, a count
is reported as 0 if Pydantic AI returns 0. Over a WebSocket, the model is entered, because only then does the
library open one, and the answers of a conversation come on the same connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

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
from streamconform_peers.pydantic_ai.models import build_model, describe_error, describe_socket_error
from streamconform_peers.turns import join_outcomes, list_turns


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    with _Session(run) as session:
        return _answer(run, session)


def _answer(run: Any, session: _Session) -> dict[str, Any]:
    conversation = run.conversation
    if conversation is None:
        prompt = ModelRequest.user_text_prompt(request_reader.read_prompt(run.request))
        return _run_model(run, session, [prompt], _build_tools(run), {})[0]
    history = messages.build_messages(conversation, run.api)
    tools = messages.build_tools(conversation)
    settings = pydantic_ai_settings.build_settings(conversation, run.api)
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        outcome, response = _run_model(run, session, history, tools, settings)
        outcomes.append(outcome)
        # On a WebSocket, the connection outlives an answer that failed, which adds nothing to the history.
        if turn is None or (response is None and run.transport == "http"):
            break
        answered = [] if response is None else [response]
        history += [*answered, messages.build_turn_message(response, turn, conversation.get("system"))]
    return join_outcomes(outcomes)


def _build_tools(run: Any) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=name, description=description, parameters_json_schema=dict(schema))
        for name, description, schema in request_reader.read_tools(run.request)
    ]


class _Session:
    """The event loop and the entered model of a run over a WebSocket; without one, nothing."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self._runner = asyncio.Runner() if run.transport == "websocket" else None
        self._model: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            if self._model is not None:
                self._runner.run(self._model.__aexit__(None, None, None))
            self._runner.close()

    def read(self, history: list[Any], options: dict[str, Any], responses: list[Any]) -> None:
        """Read an answer, and append the response that the library has built of it, even if it raises."""
        assert self._runner is not None, "only a run over a WebSocket gets here"
        if self._model is None:
            model = build_model(self.run)
            self._runner.run(model.__aenter__())
            self._model = model
        # By default, the library continues by the id of the response before; cases compare whole histories.
        socket = {"openai_transport": "websocket", "openai_previous_response_id": None}
        settings = {**options["model_settings"], **socket}
        self._runner.run(self._read(history, {**options, "model_settings": settings}, responses))

    async def _read(self, history: list[Any], options: dict[str, Any], responses: list[Any]) -> None:
        async with model_request_stream(self._model, history, **options) as stream:
            try:
                async for _ in stream:
                    pass
            finally:
                responses.append(stream.get())


def _run_model(
    run: Any, session: _Session, history: list[Any], tools: list[ToolDefinition], settings: Any
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
    if run.transport == "websocket":
        return _run_on_socket(session, history, options)
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


def _run_on_socket(
    session: _Session, history: list[Any], options: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    responses: list[Any] = []
    whole = False
    with ExceptionKeeper(describe_socket_error) as kept:
        session.read(history, options, responses)
        whole = True
    response = responses[-1] if responses else None
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
