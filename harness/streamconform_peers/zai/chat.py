"""`peer:zai`: Chat Completions through Z.ai's SDK, with `chat.completions.create()`.

`APIStatusError` is the provider's error response, whose body is available only through `response`;
`APIResponseError` is an error in the stream.
"""

from __future__ import annotations

from typing import Any

import httpx
from zai import ZaiClient
from zai.core import APIResponseError, APIStatusError
from zai.core._errors import APIConnectionError  # not exported

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import Error
from streamconform.normal.chat import ChatFields, convert_chat_chunks, convert_chat_completion
from streamconform_peers import control
from streamconform_peers.error_documents import build_error, parse_document
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception

EXPOSED = ChatFields(reasoning=("reasoning_content",))
HTTP_CLIENT = httpx.Client(timeout=TIMEOUT_SECONDS)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.create()`, streamed or not."""
    create = _get_client(run).chat.completions.create
    request = {"model": run.model, "messages": [], **(run.request or {}), "stream": run.stream}
    keywords = build_keywords(create, request)
    if not run.stream:
        completion: Any = None
        with ExceptionKeeper(describe_error) as kept:
            completion = create(**keywords)
        return convert_chat_completion(completion, EXPOSED, error=kept.error)
    chunks: list[Any] = []

    def build() -> dict[str, Any]:
        return convert_chat_chunks(chunks, EXPOSED, error=kept.error)

    with ExceptionKeeper(describe_error) as kept:
        control.read(run, chunks, build, lambda: create(**keywords))
    return build()


@control.keep_by_run
def _get_client(run: Any) -> ZaiClient:
    retries = control.turn_off_retries(run, max_retries=0)
    return ZaiClient(base_url=run.base_url, api_key=run.api_key, http_client=HTTP_CLIENT, **retries)


def describe_error(error: Exception) -> Error | None:
    """Return the error in an SDK exception; None if the connection was lost."""
    if isinstance(error, (APIConnectionError, httpx.TransportError)):
        return None
    if isinstance(error, APIStatusError):
        return build_error(parse_document(error.response.text), message=str(error), status=error.status_code)
    if isinstance(error, APIResponseError):
        return build_error(error.json_data, message=error.message, status=None)
    return describe_exception(error)
