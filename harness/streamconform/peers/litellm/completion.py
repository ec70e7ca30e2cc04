"""`peer:litellm`: LiteLLM, `completion(stream=True)`, and `stream_chunk_builder()` of its chunks.

It answers in the form of Chat Completions whatever the provider; the prompt and the tools of the request are
sent in that form. Cohere is left out: it is asked for lines of JSON (`accept: application/json`), and all
that is recorded of v2 are events. Exceptions derive from those of the OpenAI SDK. `APIConnectionError` is
raised for errors of the provider too, so a lost connection is one that was raised for an exception of the
HTTP library. Its stop reasons are its own; it does not tell the provider's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices when it is imported

import litellm

from streamconform.peers.connection_errors import lost, told
from streamconform.peers.litellm.messages import results
from streamconform.peers.litellm.models import PROVIDERS, request
from streamconform.peers.litellm.usage import counts
from streamconform.peers.normal_form import Block, Error, at, call, outcome, say, text

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.num_retries = 0
litellm.disable_hf_tokenizer_download = True  # else it asks the network for one where no usage came

STOPS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}
for _prefix, _ in PROVIDERS.values():  # what it imports when it is first called takes longer than a trial has
    litellm.completion(f"{_prefix}/warm", [{"role": "user", "content": "?"}], mock_response="!", stream=True)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; of a round trip both."""
    given = request(run)
    if (run.conversation or {}).get("stream") is False:
        return _in_one_piece(given)
    first, message = _streamed(given)
    if run.results is None or message is None:
        return first
    given["messages"] += [message, *results(message, run.results)]
    return {"first": first, "outcome": _streamed(given)[0]}


def _streamed(given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the message that its user would send back."""
    error: Error | None = None
    chunks: list[Any] = []
    try:
        for chunk in litellm.completion(**given, stream=True):
            chunks.append(chunk)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = None if lost(thrown) else told(thrown)
    whole = litellm.stream_chunk_builder(chunks) if chunks else None
    return _outcome(whole, chunks, error), at(whole, "choices")[0].message if at(whole, "choices") else None


def _in_one_piece(given: dict[str, Any]) -> dict[str, Any]:
    del given["stream_options"]
    try:
        whole = litellm.completion(**given)
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        return _outcome(None, [], told(thrown))
    return _outcome(whole, [whole], None)


def _outcome(whole: Any, chunks: list[Any], error: Error | None) -> dict[str, Any]:
    choice = next(iter(at(whole, "choices") or []), None)
    message = at(choice, "message")
    seen = [at(each.choices[0], "finish_reason") for each in chunks if at(each, "choices")]
    stop = next((each for each in reversed(seen) if each), None)
    content: list[Block] = []
    signed = at(message, "thinking_blocks") or []
    for block in signed:
        redacted = at(block, "type") == "redacted_thinking"
        signature = at(block, "signature") or at(block, "data")
        content.append(_thinking(signature, text(block, "thinking")) | {"redacted": redacted})
    if not signed:
        say(content, "thinking", text(message, "reasoning_content"))
    say(content, "text", text(message, "content"))
    content += map(_thinking, at(message, "provider_specific_fields", "thought_signatures") or [])
    for each in at(message, "tool_calls") or []:
        content += map(_thinking, filter(None, [at(each, "provider_specific_fields", "thought_signature")]))
        content.append(_call(each.id, each.function, stop))
    if old := at(message, "function_call"):
        content.append(_call(None, old, stop))
    reason = STOPS.get(stop, "other") if stop else None
    names = {"model": at(whole, "model"), "response_id": at(whole, "id")}
    return outcome(content, reason, None, usage=counts(chunks), error=error, **names)


def _call(name: str | None, function: Any, complete: Any) -> Block:
    return call(name, text(function, "name"), text(function, "arguments"), complete=bool(complete))


def _thinking(signature: str | None, words: str = "") -> Block:
    return {"type": "thinking", "text": words, "signature": signature}
