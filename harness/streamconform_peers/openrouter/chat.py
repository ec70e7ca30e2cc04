"""`peer:openrouter`: Chat Completions through OpenRouter's SDK, with `chat.send()`.

`OpenRouterError` is the provider's error. An error in the middle of a stream is a field of a chunk whose stop
reason is `error`.
"""

from __future__ import annotations

from typing import Any

import httpx
from openrouter import OpenRouter
from openrouter.errors import NoResponseError, OpenRouterError

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Error, get
from streamconform.normal.chat import ChatFields, convert_chat_chunks, convert_chat_completion
from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception

EXPOSED = ChatFields(reasoning=("reasoning",))


@control.keep_clients
def _get_client(**retries: None) -> OpenRouter:
    """Return the client of this process; each request carries its run's address."""
    return OpenRouter(api_key="conform", timeout_ms=int(TIMEOUT_SECONDS * 1000), **retries)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.send()`, streamed or not."""
    chat = _get_client(**control.turn_off_retries(run, retry_config=None)).chat
    send = chat.send
    keywords = build_keywords(send, {"messages": [], **(run.request or {}), "stream": run.stream})
    keywords.pop("extra_body", None)  # the SDK cannot send fields that OpenRouter's API does not have
    keywords |= {"model": run.model, "server_url": f"{run.base_url}/api/v1"}
    if not run.stream:
        completion: Any = None
        with ExceptionKeeper(describe_error) as kept:
            completion = send(**keywords)
        return convert_chat_completion(completion, EXPOSED, error=kept.error)
    chunks: list[Any] = []

    def build() -> dict[str, Any]:
        return convert_chat_chunks(chunks, EXPOSED, error=kept.error)

    with ExceptionKeeper(describe_error) as kept:
        if control.stops_early(run):
            control.read(run, chunks, build, lambda: send(**keywords), lambda: chat.send_async(**keywords))
        else:
            with send(**keywords) as stream:
                control.read(run, chunks, build, lambda: stream)
    error = next((chunk.error for chunk in chunks if get(chunk, "error")), None)
    if error is not None:
        kept.error = _convert_error(error)
    return build()


def describe_error(error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost."""
    if isinstance(error, (NoResponseError, httpx.TransportError)):
        return None
    if not isinstance(error, OpenRouterError):
        return describe_exception(error)
    details = get(error, "data", "error")
    return _convert_error(details or error) | {"status": error.status_code}


def _convert_error(error: Any) -> Error:
    """Convert an error from the SDK; its code is a number, and its type, if any, is in the metadata."""
    kind = get(error, "metadata", "error_type")
    named = {"type": str(kind)} if kind else {}
    return {**named, "message": get(error, "message"), "status": get(error, "code")}
