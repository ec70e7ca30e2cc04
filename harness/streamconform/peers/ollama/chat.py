"""`peer:ollama`: Ollama's Python library, `Client.chat(stream=True)`, its chunks added up as its README does.

`ResponseError` is the server's error; while it reads, `httpx` tells a lost connection. Its calls have no ids.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

import httpx
import ollama

from streamconform.peers.normal_form import SECONDS, Block, Error, at, call, outcome, raised, say

STOPS: Final = {"stop": "stop", "length": "length"}


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `Client.chat(stream=True)`."""
    client = ollama.Client(host=run.base_url, timeout=SECONDS)
    known = inspect.signature(client.chat).parameters
    request = {name: value for name, value in (run.request or {}).items() if name in known}
    request |= {"tools": [each for each in request.get("tools") or [] if _sends(each)]}
    content: list[Block] = []
    error: Error | None = None
    last: Any = None
    chunks: list[Any] = []
    try:
        for chunk in client.chat(**{**request, "stream": True}):
            chunks.append(chunk)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = _told(thrown)
    for chunk in chunks:
        say(content, "thinking", chunk.message.thinking)
        say(content, "text", chunk.message.content)
        content += [
            call(getattr(each, "id", None), each.function.name, dict(each.function.arguments))
            for each in chunk.message.tool_calls or []
        ]
        last = chunk if chunk.done else last
    stop = last.done_reason if last else None
    return outcome(
        content,
        None if last is None else STOPS.get(stop, "other") if stop else "stop",
        stop,
        usage={"input": last.prompt_eval_count, "output": last.eval_count} if last else None,
        error=error,
        model=next((chunk.model for chunk in chunks if chunk.model), None),
    )


def _sends(tool: Any) -> bool:
    """Return whether the library takes a tool: it wants a mapping, where a server is to refuse the tool."""
    return isinstance(at(tool, "function", "parameters", "properties"), Mapping)


def _told(error: Exception) -> Error | None:
    if isinstance(error, httpx.TransportError | ConnectionError):
        return None
    if isinstance(error, ollama.ResponseError):
        status = error.status_code if error.status_code >= 400 else None
        return {"type": None, "message": str(error.error), "status": status}
    return raised(error)
