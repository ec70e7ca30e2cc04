"""A scenario as a request of each API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streamconform.yaml_text.reader import read

Json = dict[str, Any]

MODEL = "smollm2-135m"
DATA = read(Path(__file__).parent / "scenarios.yaml").value
EVERYWHERE: Json = DATA["scenarios"]
"""Every scenario, by name."""
SCENARIOS: Json = {name: each for name, each in EVERYWHERE.items() if not each.get("elsewhere")}
"""The scenarios recorded with llama.cpp."""
CONVERSATIONS: Json = DATA["conversations"]
"""Every round trip and longer conversation, by name."""


def body(api: str, name: str) -> Json:
    """Return the request of scenario `name` for `api`; the recorder adds `stream: true`."""
    scenario = EVERYWHERE[name]
    return request(api, scenario, list(turns_of(scenario)))


def saved_body(api: str, name: str) -> Json:
    """Return the request of scenario `name` as the cassette holds it, which is always valid."""
    scenario = EVERYWHERE[name]
    saved = scenario | scenario.get("saved", {})
    return request(api, saved, list(turns_of(saved)))


def request(api: str, scenario: Json, turns: list[Json]) -> Json:
    """Return the request for `api` that contains `turns` and asks the same as `scenario`."""
    settings: Json = {} if scenario.get("error") else {"temperature": 0}
    extra: Json = scenario.get("extra", {})
    return {"model": MODEL} | settings | BODIES[api](scenario, turns) | extra


def turns_of(scenario: Json) -> Iterator[Json]:
    """Yield the turns, with calls and results numbered consecutively so that they match."""
    number = 0
    for turn in [*DATA["histories"].get(scenario.get("history"), []), *scenario.get("turns", [])]:
        if "calls" in turn:
            calls = [(f"call_{number + i}", *call) for i, call in enumerate(turn["calls"], start=1)]
            yield turn | {"calls": calls}
        elif "results" in turn:
            yield {
                "results": [(f"call_{number + i}", text) for i, text in enumerate(turn["results"], start=1)]
            }
            number += len(turn["results"])
        elif "times" in turn:
            yield {"user": " ".join([turn["user"]] * turn["times"])}
        else:
            yield turn


def _tools(scenario: Json) -> Iterator[tuple[str, Json]]:
    schemas = {name: {"schema": schema} for name, schema in scenario.get("schemas", {}).items()}
    for name in scenario.get("tools", []):
        yield name, DATA["tools"][name] | schemas.get(name, {})


def anthropic_messages(scenario: Json, turns: list[Json]) -> Json:
    """Return the turns as a request of Messages."""
    messages: list[Json] = []
    for turn in turns:
        thinking = (
            [{"type": "thinking", "thinking": turn["thinking"], "signature": ""}]
            if "thinking" in turn
            else []
        )
        match turn:
            case {"user": text}:
                messages.append({"role": "user", "content": text})
            case {"assistant": text}:
                content = [*thinking, {"type": "text", "text": text}] if thinking else text
                messages.append({"role": "assistant", "content": content})
            case {"calls": calls}:
                used = [
                    {"type": "tool_use", "id": call, "name": name, "input": given}
                    for call, name, given in calls
                ]
                messages.append({"role": "assistant", "content": [*thinking, *used]})
            case {"results": results}:
                failed = turn.get("failed", ())
                given = [
                    {"type": "tool_result", "tool_use_id": call, "content": text}
                    | ({"is_error": True} if call in failed else {})
                    for call, text in results
                ]
                messages.append({"role": "user", "content": given})
            case _:
                raise ValueError(f"unknown turn: {turn}")
    made: Json = {"max_tokens": scenario["max"]}
    if "stop" in scenario:
        made["stop_sequences"] = [scenario["stop"]]
    if tools := list(_tools(scenario)):
        made["tools"] = [
            {"name": name, "description": tool["description"], "input_schema": tool["schema"]}
            for name, tool in tools
        ]
        choice = scenario["choice"]
        made["tool_choice"] = (
            {"type": {"auto": "auto", "required": "any"}[choice]}
            if isinstance(choice, str)
            else {"type": "tool", "name": choice["name"]}
        )
        if scenario.get("parallel") is False:
            made["tool_choice"]["disable_parallel_tool_use"] = True
    if "thinking" in scenario:
        made["thinking"] = {"type": "enabled", "budget_tokens": scenario["thinking"]}
    return made | ({"messages": messages} if messages else {})


def openai_chat(scenario: Json, turns: list[Json]) -> Json:
    """Return the turns as a request of chat completions."""
    messages: list[Json] = []
    for turn in turns:
        thinking = {"reasoning_content": turn["thinking"]} if "thinking" in turn else {}
        match turn:
            case {"user": text}:
                messages.append({"role": "user", "content": text})
            case {"assistant": text}:
                messages.append({"role": "assistant", "content": text, **thinking})
            case {"calls": calls}:
                made_calls = [
                    {
                        "id": call,
                        "type": "function",
                        "function": {"name": name, "arguments": json.dumps(given)},
                    }
                    for call, name, given in calls
                ]
                messages.append({"role": "assistant", "content": None, **thinking, "tool_calls": made_calls})
            case {"results": results}:
                messages += [
                    {"role": "tool", "tool_call_id": call, "content": text} for call, text in results
                ]
            case _:
                raise ValueError(f"unknown turn: {turn}")
    made: Json = {"stream_options": {"include_usage": True}, "max_tokens": scenario["max"]}
    if "stop" in scenario:
        made["stop"] = [scenario["stop"]]
    if tools := list(_tools(scenario)):
        made["tools"] = [
            {
                "type": "function",
                "function": {"name": name, "description": tool["description"], "parameters": tool["schema"]},
            }
            for name, tool in tools
        ]
        choice = scenario["choice"]
        made["tool_choice"] = choice if isinstance(choice, str) else {"type": "function", "function": choice}
        if "parallel" in scenario:
            made["parallel_tool_calls"] = scenario["parallel"]
    return made | _budget(scenario) | ({"messages": messages} if messages else {})


def openai_responses(scenario: Json, turns: list[Json]) -> Json:
    """Return the turns as a request of Responses."""
    items: list[Json] = []
    for number, turn in enumerate(turns):
        if "thinking" in turn:
            text = [{"type": "reasoning_text", "text": turn["thinking"]}]
            items.append({"type": "reasoning", "id": f"rs_{number}", "summary": [], "content": text})
        match turn:
            case {"user": text}:
                items.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
            case {"assistant": text}:
                part = {"type": "output_text", "text": text, "annotations": []}
                items.append(
                    {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
                )
            case {"calls": calls}:
                items += [
                    {"type": "function_call", "call_id": call, "name": name, "arguments": json.dumps(given)}
                    for call, name, given in calls
                ]
            case {"results": results}:
                items += [
                    {"type": "function_call_output", "call_id": call, "output": text}
                    for call, text in results
                ]
            case _:
                raise ValueError(f"unknown turn: {turn}")
    made: Json = {"max_output_tokens": scenario["max"]}
    if "stop" in scenario:
        made["stop"] = [scenario["stop"]]
    if tools := list(_tools(scenario)):
        made["tools"] = [
            {
                "type": "function",
                "name": name,
                "description": tool["description"],
                "parameters": tool["schema"],
            }
            for name, tool in tools
        ]
        choice = scenario["choice"]
        made["tool_choice"] = choice if isinstance(choice, str) else {"type": "function"} | choice
        if "parallel" in scenario:
            made["parallel_tool_calls"] = scenario["parallel"]
    return made | _budget(scenario) | ({"input": items} if items else {})


def _budget(scenario: Json) -> Json:
    """Return llama.cpp's own field, because these APIs have no budget for thinking."""
    budget = scenario.get("thinking", 1024)
    return {"thinking_budget_tokens": budget} if budget < 1024 else {}


BODIES = {
    "anthropic-messages": anthropic_messages,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
}
