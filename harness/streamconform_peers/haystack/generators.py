"""`peer:haystack`: `run()` of Haystack's generators for OpenAI's two APIs, with a `streaming_callback`.

The answer is the message that `run()` returns or, if it raises, the sum of the chunks that the callback
received. A message contains one reasoning block, one text and a list of calls; only the chunks show their
order. The request's prompt and tools are sent in the library's own form. A conversation goes through an
`Agent`, which runs the same generators.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

# Before the imports: Haystack starts its telemetry when it is imported.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret
from jsonschema import Draft202012Validator
from openai.resources.chat import Completions
from openai.resources.responses import Responses

from streamconform.adapters import request_reader
from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Error, build_outcome, get
from streamconform.normal.stop_reasons import OPENAI_CHAT
from streamconform_peers import control
from streamconform_peers.haystack.agent import Answer, converse
from streamconform_peers.haystack.messages import add_up_chunks, convert_message, read_usage
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper
from streamconform_peers.openai_errors import describe_error
from streamconform_peers.turns import list_turns

GENERATORS: Final = {"openai-chat": OpenAIChatGenerator, "openai-responses": OpenAIResponsesChatGenerator}
SCHEMAS: Final = Draft202012Validator(Draft202012Validator.META_SCHEMA)
SETTINGS: Final[Mapping[str, Any]] = {"openai-chat": {"stream_options": {"include_usage": True}}}
CREATES: Final = {"openai-chat": Completions.create, "openai-responses": Responses.create}
NOT_SETTINGS: Final = ("model", "messages", "input", "tools", "stream", "stream_options")
"""Fields of a request that the library sets; all others are the settings of its generators."""


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    answers: list[Answer] = []
    with ExceptionKeeper(_describe_error) as kept:
        _ask(run, answers)
    last = _build_outcome(run.api, answers[-1] if answers else Answer(), kept.error)
    if len(answers) < 2:
        return last
    return {"first": _build_outcome(run.api, answers[0], None), "outcome": last}


def _ask(run: Any, answers: list[Answer]) -> None:
    """Append each answer, including one that ends with an exception."""
    if run.conversation is not None:
        converse(partial(_build_generator, run), run.conversation, list_turns(run), answers)
        return
    answer = Answer()
    answers.append(answer)
    generator = _build_generator(run, answer.chunks.append)
    tools = [
        # A `Tool` needs a function, but a generator never calls it.
        Tool(name=name, description=description, parameters=dict(schema), function=print)
        for name, description, schema in request_reader.read_tools(run.request)
        # `Tool` rejects other schemas, but in these cases the server must reject them.
        if SCHEMAS.is_valid(schema)
    ]
    prompt = [ChatMessage.from_user(request_reader.read_prompt(run.request))]
    answer.reply = generator.run(prompt, tools=tools)["replies"][0]


def _build_generator(run: Any, callback: Callable[[Any], None]) -> Any:
    settings = SETTINGS.get(run.api, {})
    if run.conversation is not None:
        params = {name: value for name, value in (run.request or {}).items() if name not in NOT_SETTINGS}
        settings = {**settings, **build_keywords(CREATES[run.api], params)}
    return GENERATORS[run.api](
        api_key=Secret.from_token(run.api_key),
        model=run.model,
        api_base_url=f"{run.base_url}/v1",
        streaming_callback=callback,
        timeout=TIMEOUT_SECONDS,
        **control.turn_off_retries(run, max_retries=0),
        generation_kwargs=dict(settings),
    )


def _build_outcome(api: str, answer: Answer, error: Error | None) -> dict[str, Any]:
    chunks, reply = answer.chunks, answer.reply
    meta = get(reply, "meta") or {}
    stop = meta.get("finish_reason")
    return build_outcome(
        add_up_chunks(chunks) if reply is None else convert_message(reply, chunks, complete=bool(stop)),
        OPENAI_CHAT.get(stop, "other") if stop else None,
        None,
        usage=read_usage(meta.get("usage")),
        error=error or _read_failure(meta),
        model=meta.get("model"),
        # For Chat Completions, Haystack does not expose the provider's id.
        **({"response_id": meta.get("id")} if api == "openai-responses" else {}),
    )


def _describe_error(error: Exception) -> Error | None:
    # An `Agent` raises its own exception from the generator's.
    cause = error.__cause__ if isinstance(error, PipelineRuntimeError) else None
    return describe_error(cause if isinstance(cause, Exception) else error)


def _read_failure(meta: Mapping[str, Any]) -> Error | None:
    """Return the error of a failed response, whose fields are in the message's `meta`."""
    if meta.get("status") != "failed":
        return None
    return {"type": get(meta, "error", "code"), "message": get(meta, "error", "message"), "status": None}
