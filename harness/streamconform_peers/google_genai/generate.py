"""`peer:google-genai`: the Google Gen AI SDK's `generate_content_stream()`, with its parts joined in order.

A conversation goes through `chats`. All fields of the request except `contents` go into `extra_body`.
`APIError` is the provider's error; `httpx2` exceptions raised while reading mean a lost connection. The SDK
returns signatures as bytes; the normal form uses base64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
from google import genai
from google.genai import errors

from streamconform_peers import control
from streamconform_peers.google_genai.chat import converse
from streamconform_peers.google_genai.parts import append_part, read_usage
from streamconform_peers.normal_form import (
    TIMEOUT_SECONDS,
    Block,
    Error,
    ExceptionKeeper,
    build_outcome,
    describe_exception,
    get,
)
from streamconform_peers.stop_reasons import GOOGLE
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
    last = _build_outcome(answers[-1] if answers else [], kept.error)
    if len(answers) < 2:
        return last
    return {"first": _build_outcome(answers[0], None), "outcome": last}


def _ask(run: Any, answers: list[list[Any]]) -> None:
    """Append the chunks of each answer, including those before an exception."""
    if run.conversation is not None:
        converse(get_client(run), run, list_turns(run), answers)
        return
    answers.append([])
    _request(run, answers[-1])


def _build_outcome(chunks: list[Any], error: Error | None) -> dict[str, Any]:
    content: list[Block] = []
    fields: dict[str, Any] = {}
    for chunk in chunks:
        fields |= _read_fields(chunk)
        # Only the first candidate is judged; a stream with a single candidate may omit its index.
        for candidate in [candidate for candidate in chunk.candidates or [] if not candidate.index]:
            for part in get(candidate, "content", "parts") or []:
                append_part(content, part)
            if candidate.finish_reason:
                fields["stop"] = str(candidate.finish_reason.value)
    reason, raw = _read_stop(fields)
    return build_outcome(
        content,
        reason,
        raw,
        usage=read_usage(fields),
        error=error,
        model=fields.get("model_version"),
        response_id=fields.get("response_id"),
    )


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
        lambda: _build_outcome(chunks, None),
        # Whoever reads a synchronous stream is blocked, and cannot abort it.
        None if control.is_aborted(run) else lambda: client.models.generate_content_stream(**keywords),
        lambda: client.aio.models.generate_content_stream(**keywords),
    )


def _read_fields(chunk: Any) -> dict[str, Any]:
    """Return a chunk's names, its counts, and why its prompt was blocked."""
    fields = {name: value for name in ("model_version", "response_id") if (value := get(chunk, name))}
    fields |= {name: value for name, value in dict(chunk.usage_metadata or {}).items() if value is not None}
    blocked = get(chunk, "prompt_feedback", "block_reason")
    if blocked:
        fields["blocked"] = str(get(blocked, "value") or blocked)
    return fields


def _read_stop(fields: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return why the answer ended; a blocked prompt has a block reason and no finish reason."""
    if stop := fields.get("stop"):
        return GOOGLE.get(stop, "other"), stop
    blocked = fields.get("blocked")
    return ("content_filter" if blocked else None), blocked


def _describe_error(error: Exception) -> Error | None:
    if isinstance(error, httpx2.TransportError):
        return None
    if isinstance(error, errors.APIError):
        return {"type": error.status, "message": error.message, "status": error.code}
    return describe_exception(error)
