"""`peer:google-genai`: the Google Gen AI SDK's `generate_content_stream()`, with its parts joined in order.

A conversation goes through `chats`. All fields of the request except `contents` go into `extra_body`.
`APIError` is the provider's error; `httpx2` exceptions raised while reading mean a lost connection.
"""

from __future__ import annotations

from typing import Any

import httpx2
from google import genai
from google.genai import errors

from streamconform.normal.blocks import Error
from streamconform.normal.google import convert_google_chunks
from streamconform_peers import control
from streamconform_peers.google_genai.chat import converse
from streamconform_peers.library_call import TIMEOUT_SECONDS, ExceptionKeeper, describe_exception
from streamconform_peers.turns import list_turns


@control.keep_clients
def _get_shared_client(attempts: int | None) -> genai.Client:
    options: dict[str, Any] = {"timeout": int(TIMEOUT_SECONDS * 1000)}
    options |= {"retry_options": {"attempts": attempts}} if attempts else {}
    return genai.Client(api_key="none", vertexai=False, http_options=options)


def get_client(run: Any) -> genai.Client:
    """Return this process's client; each request carries its run's address."""
    return _get_shared_client(None if control.has_default_retries(run) else 1)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    answers: list[list[Any]] = []
    with ExceptionKeeper(_describe_error) as kept:
        _ask(run, answers)
    last = convert_google_chunks(answers[-1] if answers else [], error=kept.error)
    if len(answers) < 2:
        return last
    return {"first": convert_google_chunks(answers[0]), "outcome": last}


def _ask(run: Any, answers: list[list[Any]]) -> None:
    """Append the chunks of each answer, including those before an exception."""
    if run.conversation is not None:
        converse(get_client(run), run, list_turns(run), answers)
        return
    answers.append([])
    _request(run, answers[-1])


def _request(run: Any, chunks: list[Any]) -> None:
    """Append the chunks; an answer that is not streamed has the form of one."""
    body = dict(run.request or {})
    contents = body.pop("contents", "")
    config = {"http_options": {"base_url": run.base_url, "extra_body": body}}
    client = get_client(run)
    keywords: dict[str, Any] = {"model": run.model, "contents": contents, "config": config}
    if not run.stream:
        chunks.append(client.models.generate_content(**keywords))
        return
    control.read(
        run,
        chunks,
        lambda: convert_google_chunks(chunks),
        # Whoever reads a synchronous stream is blocked, and cannot abort it.
        None if control.is_aborted(run) else lambda: client.models.generate_content_stream(**keywords),
        lambda: client.aio.models.generate_content_stream(**keywords),
    )


def _describe_error(error: Exception) -> Error | None:
    if isinstance(error, httpx2.TransportError):
        return None
    if isinstance(error, errors.APIError):
        return {"type": error.status, "message": error.message, "status": error.code}
    return describe_exception(error)
