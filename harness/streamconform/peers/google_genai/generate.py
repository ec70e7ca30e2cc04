"""`peer:google-genai`: the Google Gen AI SDK, `generate_content_stream()`, parts added up in their order.

What of the request is not `contents` goes by `extra_body`. `APIError` is the provider's error; while it
reads, `httpx` tells a lost connection. Signatures are bytes there, and base64 in the normal form.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx2
from google import genai
from google.genai import errors

from streamconform.peers.google_genai.parts import STOPS, counts, take
from streamconform.peers.normal_form import SECONDS, Block, Error, at, outcome, raised


@cache
def client() -> genai.Client:
    """Return the client of this process; each run's address goes with its request."""
    options = {"timeout": int(SECONDS * 1000), "retry_options": {"attempts": 1}}
    return genai.Client(api_key="none", vertexai=False, http_options=options)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `models.generate_content_stream()`."""
    body = dict(run.request or {})
    contents = body.pop("contents", "")
    config = {"http_options": {"base_url": run.base_url, "extra_body": body}}
    chunks: list[Any] = []
    error: Error | None = None
    try:
        for chunk in client().models.generate_content_stream(
            model=run.model, contents=contents, config=config
        ):
            chunks.append(chunk)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = _told(thrown)
    content: list[Block] = []
    seen: dict[str, Any] = {}
    for chunk in chunks:
        seen |= {name: value for name in ("model_version", "response_id") if (value := at(chunk, name))}
        usage = chunk.usage_metadata
        seen |= {name: value for name, value in dict(usage or {}).items() if value is not None}
        blocked = at(chunk, "prompt_feedback", "block_reason")
        seen |= {"blocked": str(at(blocked, "value") or blocked)} if blocked else {}
        for candidate in [each for each in chunk.candidates or [] if not each.index]:
            for part in at(candidate, "content", "parts") or []:
                take(content, part)
            if candidate.finish_reason:
                seen["stop"] = str(candidate.finish_reason.value)
    stop = seen.get("stop") or seen.get("blocked")
    reason = STOPS.get(stop, "other") if seen.get("stop") and stop else "content_filter" if stop else None
    return outcome(
        content,
        reason,
        stop,
        usage=counts(seen),
        error=error,
        model=seen.get("model_version"),
        response_id=seen.get("response_id"),
    )


def _told(error: Exception) -> Error | None:
    if isinstance(error, httpx2.TransportError):
        return None
    if isinstance(error, errors.APIError):
        return {"type": error.status, "message": error.message, "status": error.code}
    return raised(error)
