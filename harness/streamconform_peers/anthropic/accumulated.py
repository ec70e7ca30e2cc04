"""`peer:anthropic-helper`: the Anthropic SDK's `messages.stream()` and the message that it accumulates.

A conversation goes through the SDK's tool runner, whose streams are of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anthropic

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.anthropic import convert_anthropic_message
from streamconform.normal.blocks import Error
from streamconform_peers import control
from streamconform_peers.anthropic.errors import (
    build_request,
    describe_error,
    get_client,
)
from streamconform_peers.anthropic.tools import Answer, converse, read_stream
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.turns import list_turns


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.stream()`; for a conversation, those of its answers."""
    client = get_client(run)
    if run.conversation is not None:
        return answer_conversation(client, run, describe_error)
    request = {key: value for key, value in build_request(run).items() if key != "stream"}
    # MCP servers are documented only for the beta resource.
    messages: Any = client.beta.messages if "mcp_servers" in request else client.messages
    answers: list[Answer] = []
    keywords = build_keywords(messages.stream, request)

    def build() -> dict[str, Any]:
        return _convert_answer(answers, kept)

    with ExceptionKeeper(describe_error) as kept:
        if control.is_cancelled(run):
            manager = get_client(run, anthropic.AsyncAnthropic).messages.stream(**keywords)
            answers.append(Answer())
            entered = control.ContextStream(manager, lambda stream, event: answers[-1].add(event, stream))
            control.read(run, [], build, None, lambda: entered)
            return build()
        with messages.stream(**keywords) as stream:
            read_stream(
                stream, answers, control.watch(run, stream, build), is_whole=not control.stops_early(run)
            )
    return build()


def answer_conversation(
    client: Any, run: Any, describe_error: Callable[[Exception], Error | None]
) -> dict[str, Any]:
    """Return the outcome of a conversation's last answer and, if there are several, also of the first one."""
    request = {key: value for key, value in build_request(run).items() if key != "stream"}
    answers: list[Answer] = []
    with ExceptionKeeper(describe_error) as kept:
        tools = run.conversation.get("tools", ())
        converse(client.beta.messages, request, tools, list_turns(run), answers)
    outcome = _convert_answer(answers, kept)
    if len(answers) < 2:
        return outcome
    return {"first": _convert_answer(answers[:1], ExceptionKeeper()), "outcome": outcome}


def _convert_answer(answers: Sequence[Answer], kept: ExceptionKeeper) -> dict[str, Any]:
    """Return the outcome of the last answer, if the library got as far as one."""
    last = answers[-1] if answers else Answer()
    return convert_anthropic_message(last.message, last.done, ended=kept.exception is None, error=kept.error)
