"""Pass a request body on to a library: as keyword arguments, or as its prompt and its tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Tool = tuple[str, str, Mapping[str, Any]]
"""A tool's name, its description, and the JSON Schema of its arguments."""
NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def read_prompt(request: Mapping[str, Any] | None) -> str:
    """Return the last text in a request's messages (in any API), or `?` if there is none."""
    body = request or {}
    texts = list(
        _read_texts(body.get("messages") or body.get("contents") or body.get("input") or body.get("message"))
    )
    return texts[-1] if texts else "?"


def read_tools(request: Mapping[str, Any] | None) -> list[Tool]:
    """Return the client tools that a request (in any API) declares; provider-run tools are skipped."""
    return list(_read_tools(_get(request, "tools") or _get(request, "toolConfig", "tools") or []))


def build_keywords(function: Callable[..., Any], request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a request body as keyword arguments for `function`; unknown fields go into `extra_body`."""
    known = inspect.signature(function).parameters
    keywords = dict(request or {})
    # A method raises `TypeError` for a keyword argument that it does not have.
    extra = {key: keywords.pop(key) for key in list(keywords) if key not in known}
    return keywords | ({"extra_body": extra} if extra else {})


def _read_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _read_texts(item)
    elif isinstance(value, Mapping):
        for key in ("content", "parts", "text"):
            yield from _read_texts(value.get(key))


def _read_tools(declarations: Any) -> Iterator[Tool]:
    for declaration in declarations if isinstance(declarations, list) else []:
        group = _get(declaration, "functionDeclarations") or _get(declaration, "function_declarations")
        if group:
            yield from _read_tools(group)
            continue
        tool = _get(declaration, "function") or _get(declaration, "toolSpec") or declaration
        schema = next(
            (
                value
                for key in ("parameters", "parametersJsonSchema", "input_schema", "inputSchema")
                if isinstance(value := _get(tool, key), Mapping)
            ),
            None,
        )
        # The provider's tools have their own types (`web_search_20250305`) and no schema.
        if isinstance(_get(tool, "name"), str) and (
            schema or _get(declaration, "type") in {None, "function", "custom"}
        ):
            schema = _get(schema, "json") or schema or NO_ARGUMENTS
            yield tool["name"], _get(tool, "description") or "", schema


def _get(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
