"""A conversation through an `Agent`, which runs the tools and asks the generator again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from streamconform_peers.haystack.conversation import build_content, build_messages
from streamconform_peers.turns import Stretch, split_turns


@dataclass(slots=True)
class Answer:
    """The chunks of one answer, and the message that Haystack built from them."""

    chunks: list[Any] = field(default_factory=list)
    reply: Any = None


@dataclass(frozen=True, slots=True)
class Recorder:
    """A hook that begins a new answer before each request, and keeps the reply to the one before."""

    answers: list[Answer]
    given: int
    """The number of messages before the agent's first answer."""
    asked: int
    """The number of answers before it."""

    def run(self, state: Any) -> None:
        """Add an answer; the agent calls this."""
        self.keep_replies(state.data["messages"])
        self.answers.append(Answer())

    def keep_replies(self, messages: Sequence[ChatMessage]) -> None:
        """Store the messages that the model's answers became."""
        replies = [message for message in messages[self.given :] if message.is_from("assistant")]
        for answer, reply in zip(self.answers[self.asked :], replies, strict=False):
            answer.reply = reply


def converse(
    build_generator: Callable[..., Any],
    conversation: Mapping[str, Any],
    turns: Sequence[Mapping[str, Any]],
    answers: list[Answer],
) -> None:
    """Append an answer for each request, including one before an exception."""
    messages = build_messages(conversation["messages"], conversation.get("system"))

    def add_chunk(chunk: Any) -> None:
        answers[-1].chunks.append(chunk)

    generator = build_generator(add_chunk)
    for stretch in split_turns(turns):
        recorder = Recorder(answers, len(messages), len(answers))
        agent = Agent(
            chat_generator=generator,
            tools=[_build_tool(tool, stretch) for tool in conversation.get("tools", ())],
            max_agent_steps=stretch.rounds + (not stretch.ends_with_results),
            # Otherwise, two calls of one tool would run in any order.
            tool_concurrency_limit=1,
            hooks={"before_llm": [recorder]},
        )
        messages = agent.run(messages)["messages"]
        recorder.keep_replies(messages)
        messages += build_messages(stretch.messages)


def _build_tool(tool: Mapping[str, Any], stretch: Stretch) -> Tool:
    """Return a tool whose function returns the results in `stretch`.

    A tool that fails returns its message: neither of the APIs can mark a result as failed.
    """
    name = tool["name"]
    contents = [result["content"] for result in stretch.results if result["name"] == name]
    is_raw = any(not isinstance(build_content(content), str) for content in contents)

    def answer(**_: Any) -> Any:
        result = stretch.take(name)
        return build_content(result["content"]) if result else ""

    return Tool(
        name,
        tool.get("description") or "",
        dict(tool["parameters"]),
        answer,
        outputs_to_string={"raw_result": True} if is_raw else None,
    )
