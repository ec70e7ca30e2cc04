"""`peer:strands`: Strands' model providers, and the message that `stream_messages()` builds from events.

An `Agent` streams through the same function, and has the conversations. Messages are in the Bedrock Converse
format for every provider. If the stream raises, the text received so far is read from its events. The
request's prompt and tools are sent in the library's own form. Input counts include the cache if the
provider's counts do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from botocore.eventstream import ParserError
from botocore.exceptions import ClientError
from strands.event_loop.streaming import stream_messages
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from streamconform.adapters import request_reader
from streamconform.normal.blocks import Error, build_outcome, get
from streamconform.normal.stop_reasons import ANTHROPIC, BEDROCK
from streamconform_peers import bedrock_client, control
from streamconform_peers.bedrock_events import aggregate_content
from streamconform_peers.connection_errors import CONNECTION_ERRORS, describe_error, is_connection_lost
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.strands.agent import Answer, converse
from streamconform_peers.strands.blocks import (
    convert_block,
    has_whole_arguments,
    move_signatures,
    number_blocks,
    read_usage,
)
from streamconform_peers.strands.models import MODEL_BUILDERS
from streamconform_peers.turns import list_turns

STOP_REASONS: Final[Mapping[str, str]] = {**ANTHROPIC, **BEDROCK}
"""Strands' own stop reasons are Bedrock's; any others are the provider's."""
LOST: Final = (*CONNECTION_ERRORS, *bedrock_client.CONNECTION_ERRORS)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    answers: list[Answer] = []
    with ExceptionKeeper(_describe_error) as kept:
        if control.has_control(run):
            answers.append(Answer())
            control.read(
                run,
                [],
                lambda: _build_outcome(run.api, answers[-1], None),
                None,
                lambda: _Cancellable(run, answers[-1]),
            )
        else:
            asyncio.run(_collect(run, answers))
    last = _build_outcome(run.api, answers[-1] if answers else Answer(), kept.error)
    if len(answers) < 2:
        return last
    return {"first": _build_outcome(run.api, answers[0], None), "outcome": last}


def _build_outcome(api: str, answer: Answer, error: Error | None) -> dict[str, Any]:
    chunks, stop, message = answer.events, answer.stop, answer.message
    # If this event is missing, the provider reported no usage, but Strands returns 0.
    has_usage = any("metadata" in event.get("event", {}) for event in chunks)
    if message is None:
        content = aggregate_content(number_blocks(chunks))
    else:
        content = [convert_block(block) for block in message["content"]]
    if api == "google-generate":
        content = move_signatures(content)
    # An `Agent` does not run the calls in such an answer; whether the last call had ended is not exposed.
    is_cut = message is not None and stop != "tool_use"
    cut = [block for block in content[-1:] if is_cut and block["type"] == "tool_call"]
    for block in cut:
        block["complete"] = False
    outcome = build_outcome(
        content,
        STOP_REASONS.get(stop, "other") if stop else None,
        None,
        usage=read_usage(answer.usage, api) if has_usage and answer.usage else None,
        error=error,
    )
    for call in [call for call in cut if has_whole_arguments(call, chunks)]:
        del call["complete"]
    return outcome


async def _collect(run: Any, answers: list[Answer]) -> None:
    """Append each answer, including one that ends with an exception."""
    if run.conversation is not None:
        await converse(run, list_turns(run), answers)
        return
    answers.append(Answer())
    async for _ in _stream(run, MODEL_BUILDERS[run.api](run), answers[-1]):
        pass


@control.keep_by_run
def _get_model(run: Any) -> Any:
    return MODEL_BUILDERS[run.api](run)


class _Cancellable:
    """The events of an answer that is aborted by a signal, as an `Agent` does it."""

    def __init__(self, run: Any, answer: Answer) -> None:
        self._signal = threading.Event()
        self._events = _stream(run, _get_model(run), answer, self._signal)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._events

    async def aclose(self) -> None:
        self._signal.set()
        async for _ in self._events:
            pass


async def _stream(
    run: Any, model: Any, answer: Answer, signal: threading.Event | None = None
) -> AsyncIterator[Any]:
    """Yield each event, which `answer` has then."""
    tools = [
        {"name": name, "description": description or name, "inputSchema": {"json": dict(schema)}}
        for name, description, schema in request_reader.read_tools(run.request)
    ]
    messages = [{"role": "user", "content": [{"text": request_reader.read_prompt(run.request)}]}]
    async for event in stream_messages(model, None, messages, tools, cancel_signal=signal):
        answer.events.append(dict(event))
        if "stop" in event:
            answer.stop, answer.message, answer.usage, _ = event["stop"]
        yield event


def _describe_error(error: Exception) -> Error | None:
    if isinstance(error, (ModelThrottledException, ContextWindowOverflowException)) and isinstance(
        error.__cause__, Exception
    ):
        error = error.__cause__  # the provider's error
    if is_connection_lost(error) or isinstance(
        error, (*CONNECTION_ERRORS, *bedrock_client.CONNECTION_ERRORS)
    ):
        return None
    if isinstance(error, (ClientError, ParserError)):
        return bedrock_client.describe_error(error)
    if isinstance(error, RuntimeError) and isinstance(get(error, "code"), str):  # of the Responses API
        return {"type": get(error, "code"), "message": str(error), "status": None}
    return describe_error(error)
