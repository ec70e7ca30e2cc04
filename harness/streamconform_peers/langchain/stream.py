"""`peer:langchain`: `stream()` in LangChain's chat models, and the `content_blocks` of the summed chunks.

The request's prompt and tools are sent in the library's own form. Calls are read from the sum's `tool_calls`
and `invalid_tool_calls`. LangChain does not catch exceptions from a provider's SDK.
"""

from __future__ import annotations

from typing import Any

from cohere.core.http_sse import SSEError
from langchain_google_genai.chat_models import ChatGoogleGenerativeAIError

from streamconform.normal.blocks import Error, build_outcome
from streamconform.normal.langchain import convert_langchain_message
from streamconform_peers import control
from streamconform_peers.connection_errors import CONNECTION_ERRORS, describe_error
from streamconform_peers.langchain import messages
from streamconform_peers.langchain import settings as langchain_settings
from streamconform_peers.langchain.models import MODEL_BUILDERS, get_model
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.turns import join_outcomes, list_turns


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    if run.conversation is None:
        return _run_model(run, messages.build_prompt(run), {}, {})[0]
    conversation, api = run.conversation, run.api
    cache_control = langchain_settings.get_cache_control(conversation, api)
    history = messages.build_messages(conversation, api, cache_control)
    settings = langchain_settings.build_settings(conversation, api)
    choice = langchain_settings.build_tool_choice(conversation, api)
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        outcome, answer = _run_model(run, history, settings, choice)
        outcomes.append(outcome)
        if turn is None or answer is None:
            break
        with ExceptionKeeper() as kept:  # a call that LangChain returned without an id cannot be answered
            history += [answer, *messages.build_turn_messages(answer, turn)]
        if kept.exception:
            outcomes.append(build_outcome([], None, None, error=kept.error))
            break
    return join_outcomes(outcomes)


class Sum(list[Any]):
    """A list with the sum of what is appended."""

    total: Any = None

    def append(self, chunk: Any) -> None:
        """Add a message chunk."""
        self.total = chunk if self.total is None else self.total + chunk


def _run_model(
    run: Any, prompt: Any, settings: dict[str, Any], choice: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the message that a user of the library would send back."""
    message: Any = None
    chunks = Sum()
    with ExceptionKeeper(_describe_error) as kept:
        bound = settings if run.api == "cohere-chat" else {}  # ChatCohere has no fields for the settings
        settings = {} if bound else settings
        model = MODEL_BUILDERS[run.api](run, **settings) if settings else get_model(run)
        bound = bound | langchain_settings.build_format(run.conversation or {}, run.api)
        tools = messages.build_tools(run)
        model = model.bind_tools(tools, **choice) if tools else model
        model = model.bind(**bound) if bound else model
        if (run.conversation or {}).get("stream") is False:
            message = model.invoke(prompt)
        else:
            control.read(
                run,
                chunks,
                lambda: _convert(chunks.total, kept),
                lambda: model.stream(prompt),
                lambda: model.astream(prompt),
            )
    message = message or chunks.total
    return _convert(message, kept), message


def _describe_error(error: Exception) -> Error | None:
    # For bytes that are not an event stream, Cohere raises `SSEError`, a subclass of an httpx exception.
    if isinstance(error, CONNECTION_ERRORS) and not isinstance(error, SSEError):
        return None
    if isinstance(error, ChatGoogleGenerativeAIError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # the provider's error
    return describe_error(error)


def _convert(message: Any, kept: ExceptionKeeper) -> dict[str, Any]:
    is_lost = kept.exception is not None and kept.error is None
    return convert_langchain_message(message, ended=not is_lost, error=kept.error)
