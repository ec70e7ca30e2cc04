"""`peer:litellm`: LiteLLM's `completion(stream=True)`, with `stream_chunk_builder()` applied to the chunks.

LiteLLM uses the Chat Completions format for every provider; the request's prompt and tools are sent in that
format. Cohere is not claimed, because LiteLLM requests lines of JSON (`accept: application/json`), but all v2
recordings are SSE. LiteLLM's exceptions derive from the OpenAI SDK's. `APIConnectionError` is raised for
provider errors too, so it means a lost connection only if it was caused by an exception of the HTTP library.
The stop reasons are LiteLLM's own; it does not expose the provider's.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise importing litellm downloads prices

import litellm

from streamconform.normal.blocks import Error, get
from streamconform_peers import control
from streamconform_peers.connection_errors import describe_error, is_connection_lost
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.litellm.answers import build_answer
from streamconform_peers.litellm.messages import build_turn_messages
from streamconform_peers.litellm.models import PROVIDERS, build_arguments
from streamconform_peers.turns import join_outcomes, list_turns

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.disable_hf_tokenizer_download = True  # otherwise it downloads a tokenizer when no usage arrives

# LiteLLM imports a provider's code on the first call, which takes longer than a trial's timeout.
for _prefix, _ in PROVIDERS.values():
    litellm.completion(f"{_prefix}/warm", [{"role": "user", "content": "?"}], mock_response="!", stream=True)


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; for a conversation with several answers, also that of the first one."""
    arguments = build_arguments(run)
    if (run.conversation or {}).get("stream") is False:
        return _run_document(run.api, arguments)
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        outcome, message = _run_stream(run, arguments)
        outcomes.append(outcome)
        if turn is None or message is None:
            break
        arguments["messages"] += [message, *build_turn_messages(message, turn)]
    return join_outcomes(outcomes)


def _run_stream(run: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the message that a user of the library would send back."""
    chunks: list[Any] = []

    def build() -> tuple[dict[str, Any], Any]:
        response = litellm.stream_chunk_builder(chunks) if chunks else None
        choices = get(response, "choices")
        outcome = build_answer(run.api, response, chunks, kept.error)
        return outcome, choices[0].message if choices else None

    with ExceptionKeeper(_describe_error) as kept:
        control.read(
            run,
            chunks,
            lambda: build()[0],
            # Only the asynchronous stream can be closed.
            None if control.is_aborted(run) else lambda: litellm.completion(**arguments, stream=True),
            lambda: litellm.acompletion(**arguments, stream=True),
        )
    return build()


def _run_document(api: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of `completion()` without streaming."""
    # OpenAI's API rejects this field in a request without streaming.
    del arguments["stream_options"]
    response: Any = None
    with ExceptionKeeper(_describe_error) as kept:
        response = litellm.completion(**arguments)
    return build_answer(api, response, [response] if response else [], kept.error)


def _describe_error(error: Exception) -> Error | None:
    return None if is_connection_lost(error) else describe_error(error)
