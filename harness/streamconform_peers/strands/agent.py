"""A conversation through an `Agent`, which runs the tools and asks the model again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands import Agent
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent
from strands.tools.executors import SequentialToolExecutor

from streamconform.normal.blocks import get
from streamconform_peers.strands.messages import build_messages, build_tools
from streamconform_peers.strands.models import MODEL_BUILDERS, read_settings
from streamconform_peers.turns import split_turns


@dataclass(slots=True)
class Answer:
    """The events of one answer, and what Strands built from them at its end."""

    events: list[Any] = field(default_factory=list)
    stop: str | None = None
    message: Mapping[str, Any] | None = None
    usage: Mapping[str, int] | None = None


async def converse(run: Any, turns: Sequence[Mapping[str, Any]], answers: list[Answer]) -> None:
    """Append an answer for each request, including one before an exception."""
    conversation = run.conversation
    messages: list[Any] = build_messages(conversation["messages"])

    def start(event: Any) -> None:
        del event
        answers.append(Answer())

    def end(event: AfterModelCallEvent) -> None:
        if event.stop_response is not None:
            answers[-1].stop = event.stop_response.stop_reason
            answers[-1].message = event.stop_response.message

    for stretch in split_turns(turns):
        agent = Agent(
            MODEL_BUILDERS[run.api](run, **read_settings(run)),
            messages,
            tools=build_tools(conversation, stretch),
            system_prompt=conversation.get("system"),
            callback_handler=None,
            # Otherwise, two calls of one tool would run in any order.
            tool_executor=SequentialToolExecutor(),
            retry_strategy=None,
        )
        agent.hooks.add_callback(BeforeModelCallEvent, start)
        agent.hooks.add_callback(AfterModelCallEvent, end)
        limits = {"turns": stretch.rounds + (not stretch.ends_with_results)}
        async for event in agent.stream_async(limits=limits):
            if "event" in event:
                answers[-1].events.append(dict(event))
                answers[-1].usage = get(event["event"], "metadata", "usage") or answers[-1].usage
        messages = [*agent.messages, *build_messages(stretch.messages)]
