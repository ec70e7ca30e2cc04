"""Chat Completions through the OpenAI SDK: raw chunks aggregated as its guides show, and its helper."""

from __future__ import annotations

from typing import Any

from streamconform_peers.chat_chunks import convert_chunks
from streamconform_peers.chat_completion import convert_completion
from streamconform_peers.normal_form import ExceptionKeeper, build_keywords
from streamconform_peers.openai.client import build_request, get_client
from streamconform_peers.openai.conversation import continue_chat
from streamconform_peers.openai_errors import describe_error
from streamconform_peers.turns import join_outcomes, list_turns


def run_raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.create(stream=True)`; only choice 0 is read."""
    create = get_client(run).chat.completions.create
    if not run.stream:
        completion: Any = None
        with ExceptionKeeper(describe_error) as kept:
            completion = create(**build_keywords(create, build_request(run)))
        return convert_completion(completion, kept)
    chunks: list[Any] = []
    with ExceptionKeeper(describe_error) as kept:
        for chunk in create(**build_keywords(create, build_request(run) | {"stream": True})):
            chunks.append(chunk)  # noqa: PERF402 - chunks before an exception must be kept
    return convert_chunks(chunks, kept)


def run_helper(run: Any) -> dict[str, Any]:
    """Return the outcome of the completion that `chat.completions.stream()` accumulated.

    For a conversation with several answers, return that of the first one too.
    """
    request = build_request(run)
    messages = list(request["messages"])
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        completion, kept = _stream(run, {**request, "messages": messages})
        outcomes.append(convert_completion(completion, kept))
        if turn is None or kept.exception or completion is None:
            break
        messages += continue_chat(completion.choices[0].message, turn)
    return join_outcomes(outcomes)


def _stream(run: Any, request: dict[str, Any]) -> tuple[Any, ExceptionKeeper]:
    """Return the completion, as far as it arrived."""
    chat = get_client(run).chat.completions
    completion: Any = None
    with (
        ExceptionKeeper(describe_error) as kept,
        chat.stream(**build_keywords(chat.stream, request)) as stream,
    ):
        for _ in stream:
            completion = stream.current_completion_snapshot
        completion = stream.get_final_completion()
    return completion, kept
