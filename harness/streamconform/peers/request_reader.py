"""What a request asks for, for libraries whose requests have a form of their own: a prompt, and tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamconform.peers.normal_form import at

Tool = tuple[str, str, Mapping[str, Any]]
"""Name, description, JSON Schema of the arguments."""
NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def prompt(request: Mapping[str, Any] | None) -> str:
    """Return the last text in the messages of a request, of whatever api."""
    body = request or {}
    found = list(
        _texts(body.get("messages") or body.get("contents") or body.get("input") or body.get("message"))
    )
    return found[-1] if found else "?"


def tools(request: Mapping[str, Any] | None) -> list[Tool]:
    """Return the client's tools that a request declares, of whatever api."""
    return list(_tools((request or {}).get("tools") or at(request, "toolConfig", "tools") or []))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, Mapping):
        for key in ("content", "parts", "text"):
            yield from _texts(value.get(key))


def _tools(given: Any) -> Iterator[Tool]:
    for each in given if isinstance(given, list) else []:
        declared = at(each, "functionDeclarations") or at(each, "function_declarations")
        if declared:
            yield from _tools(declared)
            continue
        tool = at(each, "function") or at(each, "toolSpec") or each
        schema = next(
            (
                found
                for key in ("parameters", "parametersJsonSchema", "input_schema", "inputSchema")
                if isinstance(found := at(tool, key), Mapping)
            ),
            None,
        )
        if isinstance(at(tool, "name"), str) and (schema or at(each, "type") in {None, "function", "custom"}):
            schema = at(schema, "json") or schema or NO_ARGUMENTS
            yield tool["name"], at(tool, "description") or "", schema
