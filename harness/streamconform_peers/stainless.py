"""Chat Completions through an SDK that Stainless generated for a vendor.

These SDKs have different types but the same client: `with_options()`, `chat.completions.create()`, `APIError`
for the provider's errors and `APIConnectionError` for a lost connection. While such an SDK reads a stream, it
does not catch the HTTP library's exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from streamconform_peers.chat_chunks import convert_chunks
from streamconform_peers.chat_completion import ChatFields, convert_completion
from streamconform_peers.error_documents import build_error
from streamconform_peers.normal_form import (
    TIMEOUT_SECONDS,
    Error,
    ExceptionKeeper,
    build_keywords,
    describe_exception,
    get,
)


def build_adapter(
    library: Any, client: Callable[..., Any], exposed: ChatFields, **settings: Any
) -> Callable[[Any], dict[str, Any]]:
    """Return the adapter for the SDK `library`; `client` is its client class, which takes `settings`."""
    shared_client = client(api_key="conform", max_retries=0, timeout=TIMEOUT_SECONDS, **settings)

    def describe(error: Exception) -> Error | None:
        return describe_error(library, error)

    def run_chat(run: Any) -> dict[str, Any]:
        options = {"base_url": run.base_url, "api_key": run.api_key, **settings}
        create = shared_client.with_options(**options).chat.completions.create
        keywords = build_keywords(create, build_request(run))
        if not run.stream:
            completion: Any = None
            with ExceptionKeeper(describe) as kept:
                completion = create(**keywords)
            return convert_completion(completion, kept, exposed)
        chunks: list[Any] = []
        with ExceptionKeeper(describe) as kept:
            for chunk in create(**keywords, stream=True):
                chunks.append(chunk)  # noqa: PERF402 - chunks before an exception must be kept
        return convert_chunks(chunks, kept, exposed)

    return run_chat


def build_request(run: Any) -> dict[str, Any]:
    """Return the run's request without `stream`, with defaults for fields that the SDK requires."""
    request = {"model": run.model, "messages": [], **(run.request or {})}
    return {name: value for name, value in request.items() if name != "stream"}


def describe_error(library: Any, error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost.

    The body is the document of an error response or, for an error in the stream, the value of `error`.
    """
    if isinstance(error, (library.APIConnectionError, httpx.TransportError)):
        return None
    if not isinstance(error, library.APIError):
        return describe_exception(error)
    return build_error(error.body, message=error.message, status=get(error, "status_code"))
