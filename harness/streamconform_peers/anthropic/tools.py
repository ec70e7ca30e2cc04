"""A conversation through the Anthropic SDK's tool runner, which runs the tools and asks the model again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anthropic import beta_tool
from anthropic.lib.tools import ToolError

from streamconform.adapters.request_reader import build_keywords
from streamconform_peers.turns import Stretch, split_turns

Part = Mapping[str, Any]
"""A tool result, or a part of a message's content, in the form used in conversations."""


@dataclass(slots=True)
class Answer:
    """The message that a stream accumulated, and the indexes of its completed blocks."""

    message: Any = None
    done: set[int] = field(default_factory=set)

    def add(self, event: Any, stream: Any) -> None:
        """Take what a stream has added up when it yields `event`."""
        if event.type == "content_block_stop":
            self.done.add(event.index)
        # There is no snapshot before this event.
        if self.message is not None or event.type == "message_start":
            self.message = stream.current_message_snapshot


def converse(
    messages: Any,
    request: Mapping[str, Any],
    tools: Sequence[Part],
    turns: Sequence[Mapping[str, Any]],
    answers: list[Answer],
) -> None:
    """Append an answer for each request, including one before an exception; `tools` are a conversation's."""
    history = list(request["messages"])
    for stretch in split_turns(turns):
        limit = stretch.rounds + (not stretch.ends_with_results)
        # By default, each request would contain only what is new, and the server would keep the rest.
        keywords = {
            **request,
            "messages": history,
            "tools": _build_tools(request, tools, stretch),
            "thread": False,
        }
        keywords = build_keywords(messages.tool_runner, keywords)
        runner = messages.tool_runner(**keywords, stream=True, max_iterations=limit)
        for number, stream in enumerate(runner, 1):
            read_stream(stream, answers)
            history.append(answers[-1].message.to_param())
            if number <= stretch.rounds and (reply := runner.generate_tool_call_response()):
                history.append(reply)
        history += map(_convert_message, stretch.messages)


def read_stream(
    stream: Any, answers: list[Answer], events: Iterable[Any] | None = None, *, is_whole: bool = True
) -> None:
    """Append what a stream adds up to, also if it raises; `events` are its own unless they are given."""
    answer = Answer()
    answers.append(answer)
    for event in stream if events is None else events:
        answer.add(event, stream)
    if is_whole:
        answer.message = stream.get_final_message()


def _build_tools(request: Mapping[str, Any], tools: Sequence[Part], stretch: Stretch) -> list[Any]:
    """Return the client's tools, whose functions return the results in `stretch`, and the provider's."""
    return [
        *(
            beta_tool(
                _make_function(tool["name"], stretch),
                name=tool["name"],
                description=tool.get("description"),
                input_schema=tool["parameters"],
            )
            for tool in tools
        ),
        *(tool for tool in request.get("tools", ()) if "input_schema" not in tool),
    ]


def _make_function(name: str, stretch: Stretch) -> Callable[..., Any]:
    def answer(**_: Any) -> Any:
        result = stretch.take(name) or {"content": ""}
        content = _convert_content(result["content"])
        if result.get("error"):
            raise ToolError(content)
        return content

    return answer


def _convert_message(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": _convert_content(message["content"])}


def _convert_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    if len(content) == 1 and content[0]["type"] == "json":
        return json.dumps(content[0]["value"])
    return list(map(_convert_part, content))


def _convert_part(part: Part) -> dict[str, Any]:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return {"type": "image", "source": {"type": "base64", "media_type": type_, "data": data}}
        case {"type": "json", "value": value}:
            return {"type": "text", "text": json.dumps(value)}
        case _:
            return dict(part)
