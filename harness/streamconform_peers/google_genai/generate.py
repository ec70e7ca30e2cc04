"""`peer:google-genai`: the Google Gen AI SDK's `generate_content_stream()`, with its parts joined in order.

All fields of the request except `contents` go into `extra_body`. `APIError` is the provider's error; `httpx2`
exceptions raised while reading mean a lost connection. The SDK returns signatures as bytes; the normal form
uses base64.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx2
from google import genai
from google.genai import errors

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


@cache
def get_client() -> genai.Client:
    """Return this process's client; each request carries its run's address."""
    options = {"timeout": int(TIMEOUT_SECONDS * 1000), "retry_options": {"attempts": 1}}
    return genai.Client(api_key="none", vertexai=False, http_options=options)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `models.generate_content_stream()`, or `generate_content()`."""
    body = dict(run.request or {})
    contents = body.pop("contents", "")
    config = {"http_options": {"base_url": run.base_url, "extra_body": body}}
    chunks: list[Any] = []
    with ExceptionKeeper(_describe_error) as kept:
        models = get_client().models
        if not run.stream:
            # A non-streaming answer has the form of a chunk.
            chunks = [models.generate_content(model=run.model, contents=contents, config=config)]
        else:
            for chunk in models.generate_content_stream(model=run.model, contents=contents, config=config):
                chunks.append(chunk)
    content: list[Block] = []
    fields: dict[str, Any] = {}
    for chunk in chunks:
        fields |= {name: value for name in ("model_version", "response_id") if (value := get(chunk, name))}
        usage = chunk.usage_metadata
        fields |= {name: value for name, value in dict(usage or {}).items() if value is not None}
        blocked = get(chunk, "prompt_feedback", "block_reason")
        fields |= {"blocked": str(get(blocked, "value") or blocked)} if blocked else {}
        # Only the first candidate is judged; a stream with a single candidate may omit its index.
        for candidate in [candidate for candidate in chunk.candidates or [] if not candidate.index]:
            for part in get(candidate, "content", "parts") or []:
                append_part(content, part)
            if candidate.finish_reason:
                fields["stop"] = str(candidate.finish_reason.value)
    # A blocked prompt has a block reason and no finish reason.
    stop = fields.get("stop") or fields.get("blocked")
    reason = GOOGLE.get(stop, "other") if fields.get("stop") and stop else "content_filter" if stop else None
    return build_outcome(
        content,
        reason,
        stop,
        usage=read_usage(fields),
        error=kept.error,
        model=fields.get("model_version"),
        response_id=fields.get("response_id"),
    )


def _describe_error(error: Exception) -> Error | None:
    if isinstance(error, httpx2.TransportError):
        return None
    if isinstance(error, errors.APIError):
        return {"type": error.status, "message": error.message, "status": error.code}
    return describe_exception(error)
