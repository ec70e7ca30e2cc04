"""`peer:litellm`: LiteLLM, `completion(stream=True)`, and `stream_chunk_builder()` of its chunks.

LiteLLM uses the form of Chat Completions for every provider; the prompt and the tools of the request are sent
in that form. Cohere is not claimed: LiteLLM requests lines of JSON (`accept: application/json`), and all
recordings of v2 are events. Exceptions derive from those of the OpenAI SDK. `APIConnectionError` is raised
for provider errors too, so only one that was raised for an exception of the HTTP library is a lost
connection. The stop reasons are LiteLLM's own; it does not expose the provider's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise importing it downloads prices

import litellm

from streamconform.peers.connection_errors import describe_error, is_connection_lost
from streamconform.peers.litellm.messages import build_result_messages
from streamconform.peers.litellm.models import PROVIDERS, build_arguments
from streamconform.peers.litellm.usage import read_usage
from streamconform.peers.normal_form import (
    Block,
    Error,
    append_text,
    build_call,
    build_outcome,
    get,
    get_text,
    keep_exception,
)

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.num_retries = 0
litellm.disable_hf_tokenizer_download = True  # otherwise it downloads a tokenizer when no usage arrives

STOP_REASONS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}
# LiteLLM imports a provider's code on the first call, which takes longer than a trial's timeout.
for _prefix, _ in PROVIDERS.values():
    litellm.completion(f"{_prefix}/warm", [{"role": "user", "content": "?"}], mock_response="!", stream=True)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a round trip, both outcomes."""
    arguments = build_arguments(run)
    if (run.conversation or {}).get("stream") is False:
        return _run_document(arguments)
    first, message = _run_stream(arguments)
    if run.results is None or message is None:
        return first
    arguments["messages"] += [message, *build_result_messages(message, run.results)]
    return {"first": first, "outcome": _run_stream(arguments)[0]}


def _run_stream(arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the message that a user of the library would send back."""
    error: Error | None = None
    chunks: list[Any] = []
    try:
        for chunk in litellm.completion(**arguments, stream=True):
            chunks.append(chunk)  # noqa: PERF402 - chunks before an exception must be kept
    except Exception as exception:  # noqa: BLE001 - every exception is what the library's user sees
        error = None if is_connection_lost(keep_exception(exception)) else describe_error(exception)
    response = litellm.stream_chunk_builder(chunks) if chunks else None
    choices = get(response, "choices")
    return _build_outcome(response, chunks, error), choices[0].message if choices else None


def _run_document(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of `completion()` without streaming."""
    del arguments["stream_options"]
    try:
        response = litellm.completion(**arguments)
    except Exception as exception:  # noqa: BLE001 - every exception is what the library's user sees
        return _build_outcome(None, [], describe_error(keep_exception(exception)))
    return _build_outcome(response, [response], None)


def _build_outcome(response: Any, chunks: list[Any], error: Error | None) -> dict[str, Any]:
    choice = next(iter(get(response, "choices") or []), None)
    message = get(choice, "message")
    stops = [get(chunk.choices[0], "finish_reason") for chunk in chunks if get(chunk, "choices")]
    stop = next((stop for stop in reversed(stops) if stop), None)
    content: list[Block] = []
    thinking_blocks = get(message, "thinking_blocks") or []
    for block in thinking_blocks:
        redacted = get(block, "type") == "redacted_thinking"
        signature = get(block, "signature") or get(block, "data")
        content.append(_build_thinking(signature, get_text(block, "thinking")) | {"redacted": redacted})
    if not thinking_blocks:
        append_text(content, "thinking", get_text(message, "reasoning_content"))
    append_text(content, "text", get_text(message, "content"))
    content += map(_build_thinking, get(message, "provider_specific_fields", "thought_signatures") or [])
    for call in get(message, "tool_calls") or []:
        signature = get(call, "provider_specific_fields", "thought_signature")
        content += [_build_thinking(signature)] if signature else []
        content.append(_convert_call(call.id, call.function, stop))
    if legacy := get(message, "function_call"):
        content.append(_convert_call(None, legacy, stop))
    reason = STOP_REASONS.get(stop, "other") if stop else None
    names = {"model": get(response, "model"), "response_id": get(response, "id")}
    return build_outcome(content, reason, None, usage=read_usage(chunks), error=error, **names)


def _convert_call(id_: str | None, function: Any, stop: str | None) -> Block:
    return build_call(id_, get_text(function, "name"), get_text(function, "arguments"), complete=bool(stop))


def _build_thinking(signature: str | None, text: str = "") -> Block:
    return {"type": "thinking", "text": text, "signature": signature}
