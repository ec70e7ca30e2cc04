"""Chat Completions through an SDK that Stainless generated for a vendor.

These SDKs have different types but the same client: `with_options()`, `chat.completions.create()`, `APIError`
for the provider's errors and `APIConnectionError` for a lost connection. While such an SDK reads a stream, it
does not catch the HTTP library's exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Error, get
from streamconform.normal.chat import ChatFields, convert_chat_chunks, convert_chat_completion
from streamconform_peers import control
from streamconform_peers.error_documents import build_error
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception


def build_adapter(
    library: Any,
    client: Callable[..., Any],
    async_client: Callable[..., Any],
    exposed: ChatFields,
    **settings: Any,
) -> Callable[[Any], dict[str, Any]]:
    """Return the adapter for the SDK `library`; its client classes take `settings`."""

    @control.keep_clients
    def get_shared_client(make: Callable[..., Any], **retries: int) -> Any:
        return make(api_key="conform", timeout=TIMEOUT_SECONDS, **retries, **settings)

    def describe(error: Exception) -> Error | None:
        return describe_error(library, error)

    def run_chat(run: Any) -> dict[str, Any]:
        options = {"base_url": run.base_url, "api_key": run.api_key, **settings}

        def get_create(make: Callable[..., Any]) -> Callable[..., Any]:
            shared = get_shared_client(make, **control.turn_off_retries(run, max_retries=0))
            create: Callable[..., Any] = shared.with_options(**options).chat.completions.create
            return create

        create = get_create(client)
        keywords = build_keywords(create, build_request(run))
        if not run.stream:
            completion: Any = None
            with ExceptionKeeper(describe) as kept:
                completion = create(**keywords)
            return convert_chat_completion(completion, exposed, error=kept.error)
        chunks: list[Any] = []
        with ExceptionKeeper(describe) as kept:
            control.read(
                run,
                chunks,
                lambda: convert_chat_chunks(chunks, exposed, error=kept.error),
                lambda: create(**keywords, stream=True),
                lambda: get_create(async_client)(**keywords, stream=True),
            )
        return convert_chat_chunks(chunks, exposed, error=kept.error)

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
