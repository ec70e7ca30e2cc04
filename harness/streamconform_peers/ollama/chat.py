"""`peer:ollama`: `Client.chat(stream=True)` in Ollama's Python library, aggregated as in its README.

`ResponseError` is the server's error; `httpx` exceptions raised while reading mean a lost connection.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import ollama

from streamconform.normal.blocks import Block, Error, append_text, build_call, build_outcome, get
from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception

STOP_REASONS: Final = {"stop": "stop", "length": "length"}


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `Client.chat()`, with or without `stream=True`."""
    client = get_client(ollama.Client, run.base_url)
    known = inspect.signature(client.chat).parameters
    request = {name: value for name, value in (run.request or {}).items() if name in known}
    request |= {"tools": [tool for tool in request.get("tools") or [] if _is_accepted(tool)]}
    request["stream"] = run.stream
    chunks: list[Any] = []
    with ExceptionKeeper(_describe_error) as kept:
        if not run.stream:
            # A non-streaming answer has the form of the last chunk.
            chunks.append(client.chat(**request))
        else:
            control.read(
                run,
                chunks,
                lambda: _add_up(chunks, kept),
                lambda: client.chat(**request),
                lambda: get_client(ollama.AsyncClient, run.base_url).chat(**request),
            )
    return _add_up(chunks, kept)


@control.keep_clients
def get_client(make: Any, host: str) -> Any:
    """Return the client for a server; the library has no retries."""
    return make(host=host, timeout=TIMEOUT_SECONDS)


def _add_up(chunks: Sequence[Any], kept: ExceptionKeeper) -> dict[str, Any]:
    """Return the outcome of the chunks."""
    content: list[Block] = []
    last: Any = None
    for chunk in chunks:
        append_text(content, "thinking", chunk.message.thinking)
        append_text(content, "text", chunk.message.content)
        content += [_convert_call(call) for call in chunk.message.tool_calls or []]
        last = chunk if chunk.done else last
    stop = last.done_reason if last else None
    return build_outcome(
        content,
        # Older servers send no `done_reason`.
        None if last is None else STOP_REASONS.get(stop, "other") if stop else "stop",
        stop,
        usage={"input": last.prompt_eval_count, "output": last.eval_count} if last else None,
        error=kept.error,
        model=next((chunk.model for chunk in chunks if chunk.model), None),
    )


def _convert_call(call: Any) -> Block:
    """Return a call; the library's calls have no id."""
    block = build_call(None, call.function.name, dict(call.function.arguments))
    return {name: value for name, value in block.items() if name != "id"}


def _is_accepted(tool: Any) -> bool:
    """Return whether the library accepts a tool: its `properties` must be a mapping.

    Some cases declare an invalid tool that the server rejects; the library would raise before sending it.
    """
    return isinstance(get(tool, "function", "parameters", "properties"), Mapping)


def _describe_error(error: Exception) -> Error | None:
    if isinstance(error, httpx.TransportError | ConnectionError):
        return None
    if isinstance(error, ollama.ResponseError):
        status = error.status_code if error.status_code >= 400 else None
        return {"type": None, "message": str(error.error), "status": status}
    return describe_exception(error)
