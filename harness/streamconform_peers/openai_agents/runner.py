"""A conversation through `Runner.run_streamed()`, which runs the tools and asks the model again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agents import (
    Agent,
    AgentOutputSchemaBase,
    FunctionTool,
    ModelSettings,
    ProgrammaticToolCallingTool,
    RunConfig,
    Runner,
    ToolSearchTool,
    ToolsToFinalOutputResult,
)
from agents.models.openai_responses import ResponsesWebSocketError
from openai.types.shared import Reasoning

from streamconform.normal.blocks import get
from streamconform.normal.responses import RESPONSE_ENDS
from streamconform_peers.openai_agents.items import build_items, build_output
from streamconform_peers.turns import Stretch, split_turns

SAME_NAMES: Final = (
    *("parallel_tool_calls", "max_tokens", "temperature", "top_p"),
    *("presence_penalty", "frequency_penalty", "metadata"),
)
SETTINGS: Final[Mapping[str, str]] = {
    **{name: name for name in SAME_NAMES},
    "logprobs": "top_logprobs",
}
"""Options of conversations that are settings of the library."""
EXTRA_ARGS: Final[Mapping[str, str]] = {
    **{name: name for name in ("stop", "seed", "service_tier")},
    "session": "prompt_cache_key",
    "user": "safety_identifier",
}
"""Options for which it has `extra_args`, and their names there, which are the provider's."""
HOSTED_TOOLS: Final[Mapping[str, Callable[[], Any]]] = {
    "tool_search": ToolSearchTool,
    "programmatic_tool_calling": ProgrammaticToolCallingTool,
}
"""Tools of the provider through which it calls the client's; only a run's request has them."""
CONFIG: Final = RunConfig(tracing_disabled=True)


async def converse(
    model: Any, run: Any, turns: Sequence[Mapping[str, Any]], answers: list[list[Any]]
) -> None:
    """Append the events of each answer to `answers`, including those before an exception."""
    items: list[Any] = list(build_items(run.conversation["messages"]))
    for stretch in split_turns(turns):
        agent = _build_agent(model, run, stretch)
        if run.conversation.get("stream") is False:  # only in a conversation without turns
            await Runner.run(agent, items, run_config=CONFIG)
            return
        while True:
            result = Runner.run_streamed(agent, items, max_turns=len(turns) + 1, run_config=CONFIG)
            answers.append([])
            try:
                await _collect_events(result, answers)
                break
            except ResponsesWebSocketError:
                # Over a WebSocket, a client goes on after an answer that failed.
                if len(answers) > len(turns):
                    raise
                items = result.to_input_list()
        items = [*result.to_input_list(), *build_items(stretch.messages)]


async def _collect_events(result: Any, answers: list[list[Any]]) -> None:
    """Append the events of each answer of a run, the first of which has its list already."""
    async for event in result.stream_events():
        if event.type != "raw_response_event":
            continue
        if any(each.type in RESPONSE_ENDS for each in answers[-1]):
            answers.append([])
        answers[-1].append(event.data)


def _build_agent(model: Any, run: Any, stretch: Stretch) -> Agent:
    rounds = 0

    def decide(*_: Any) -> ToolsToFinalOutputResult:
        nonlocal rounds
        rounds += 1
        return ToolsToFinalOutputResult(is_final_output=stretch.ends_after(rounds))

    conversation = run.conversation
    declared = [tool for tool in (run.request or {}).get("tools", ()) if isinstance(tool, Mapping)]
    options = {tool["name"]: tool for tool in declared if "name" in tool}
    tools: list[Any] = [
        FunctionTool(
            tool["name"],
            tool.get("description") or "",
            dict(tool["parameters"]),
            _make_function(tool["name"], stretch),
            strict_json_schema=tool.get("strict", False),
            defer_loading=get(options, tool["name"], "defer_loading") or False,
            allowed_callers=get(options, tool["name"], "allowed_callers"),
        )
        for tool in conversation.get("tools", ())
    ]
    kinds = {tool.get("type") for tool in declared}
    tools += [make() for kind, make in HOSTED_TOOLS.items() if kind in kinds]
    return Agent(
        name="agent",
        instructions=conversation.get("system"),
        model=model,
        model_settings=build_settings(conversation, run.request or {}),
        tools=tools,
        tool_use_behavior=decide,
        output_type=OutputSchema(output) if (output := conversation.get("output_schema")) else None,
    )


class OutputSchema(AgentOutputSchemaBase):  # type: ignore[misc]
    """The format of the answer, which is not parsed."""

    def __init__(self, output: Mapping[str, Any]) -> None:
        """Store a conversation's `output_schema`; the library has a name of its own for it."""
        self._output = output

    def is_plain_text(self) -> bool:
        """Return that the answer is not just text."""
        return False

    def name(self) -> str:
        """Return the name, which is used in messages of errors."""
        return str(self._output.get("name", "answer"))

    def json_schema(self) -> dict[str, Any]:
        """Return the schema."""
        return dict(self._output["schema"])

    def is_strict_json_schema(self) -> bool:
        """Return whether the provider must enforce the schema."""
        return bool(self._output.get("strict"))

    def validate_json(self, json_str: str) -> Any:
        """Return the answer as it is."""
        return json_str


def _make_function(name: str, stretch: Stretch) -> Callable[[Any, str], Any]:
    async def answer(*_: Any) -> Any:
        result = stretch.take(name)
        # A tool that fails returns its message: neither of the APIs can mark a result as failed.
        return build_output(result["content"]) if result else ""

    return answer


def build_settings(conversation: Mapping[str, Any], request: Mapping[str, Any]) -> ModelSettings:
    """Return the settings; `store` and `include`, which a conversation cannot contain, are the request's."""
    options: dict[str, Any] = {
        setting: conversation[name] for name, setting in SETTINGS.items() if name in conversation
    }
    match conversation.get("tool_choice"):
        case str(choice) | {"name": choice}:
            options["tool_choice"] = choice
        case _:
            pass
    match conversation.get("thinking"):
        case {"effort": effort}:
            options["reasoning"] = Reasoning(effort=effort)
        case "off":
            options["reasoning"] = Reasoning(effort="none")
        case _:
            pass
    if conversation.get("cache") == "long":
        options["prompt_cache_retention"] = "24h"
    extra = {name: conversation[own] for own, name in EXTRA_ARGS.items() if own in conversation}
    if conversation.get("cache") == "none":
        extra.pop("prompt_cache_key", None)
    return ModelSettings(
        include_usage=True,
        store=request.get("store"),
        response_include=request.get("include"),
        extra_args=extra or None,
        **options,
    )
