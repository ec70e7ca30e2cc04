"""`peer:huggingface_hub`: `InferenceClient.chat_completion()`, for Chat Completions.

`HfHubHTTPError` is the provider's error response, and `TextGenerationError` is an error in the stream.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import httpx2
from huggingface_hub import AsyncInferenceClient, InferenceClient, InferenceTimeoutError
from huggingface_hub.errors import HfHubHTTPError, TextGenerationError

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Error
from streamconform.normal.chat import ChatFields, convert_chat_chunks, convert_chat_completion
from streamconform_peers import control
from streamconform_peers.error_documents import build_error, parse_document
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception

EXPOSED = ChatFields(reasoning=("reasoning",), usage_parts=False)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat_completion()`, streamed or not."""
    client = _get_client(run)
    request = {"model": run.model, "messages": [], **(run.request or {}), "stream": run.stream}
    keywords = build_keywords(client.chat_completion, request)
    chunks: list[Any] = []
    # A client that answers several times is not closed after the first one.
    with nullcontext() if control.has_control(run) else client, ExceptionKeeper(describe_error) as kept:
        if not run.stream:
            chunks.append(client.chat_completion(**keywords))
        else:
            control.read(
                run,
                chunks,
                lambda: convert_chat_chunks(chunks, EXPOSED, error=kept.error),
                lambda: client.chat_completion(**keywords),
                lambda: _get_async_client(run).chat_completion(**keywords),
            )
    if run.stream:
        return convert_chat_chunks(chunks, EXPOSED, error=kept.error)
    return convert_chat_completion(next(iter(chunks), None), EXPOSED, error=kept.error)


@control.keep_by_run
def _get_client(run: Any) -> Any:
    return InferenceClient(base_url=f"{run.base_url}/v1", api_key=run.api_key, timeout=TIMEOUT_SECONDS)


@control.keep_by_run
def _get_async_client(run: Any) -> Any:
    return AsyncInferenceClient(base_url=f"{run.base_url}/v1", api_key=run.api_key, timeout=TIMEOUT_SECONDS)


def describe_error(error: Exception) -> Error | None:
    """Return the error in an exception from the library; None if the connection was lost."""
    # `HfHubHTTPError` is an `OSError` but not a `TransportError`.
    if isinstance(error, (InferenceTimeoutError, httpx2.TransportError)):
        return None
    if isinstance(error, HfHubHTTPError):
        document = parse_document(error.response.text)
        message = error.server_message or str(error)
        return build_error(document, message=message, status=error.response.status_code)
    if isinstance(error, TextGenerationError):
        # The exception's argument is the value that the provider sent under `error`.
        return build_error(next(iter(error.args), None), message=str(error), status=None)
    return describe_exception(error)
