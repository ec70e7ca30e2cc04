"""Chat Completions through the OpenAI SDK: raw chunks aggregated as its guides show, and its helper."""

from __future__ import annotations

from typing import Any

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.chat import convert_chat_chunks, convert_chat_completion
from streamconform_peers import control
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.openai.client import build_request, get_async_client, get_client
from streamconform_peers.openai.conversation import continue_chat
from streamconform_peers.openai_errors import describe_error
from streamconform_peers.turns import join_outcomes, list_turns


def run_raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `chat.completions.create(stream=True)`; only choice 0 is read."""
    create = get_client(run).chat.completions.create
    keywords = build_keywords(create, build_request(run))
    if not run.stream:
        completion: Any = None
        with ExceptionKeeper(describe_error) as kept:
            completion = create(**keywords)
        return convert_chat_completion(completion, error=kept.error)
    chunks: list[Any] = []
    with ExceptionKeeper(describe_error) as kept:
        control.read(
            run,
            chunks,
            lambda: convert_chat_chunks(chunks, error=kept.error),
            lambda: create(**keywords, stream=True),
            lambda: get_async_client(run).chat.completions.create(**keywords, stream=True),
        )
    return convert_chat_chunks(chunks, error=kept.error)


def run_helper(run: Any) -> dict[str, Any]:
    """Return the outcome of the completion that `chat.completions.stream()` accumulated.

    For a conversation with several answers, return that of the first one too.
    """
    request = build_request(run)
    messages = list(request["messages"])
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        completion, kept = _stream(run, {**request, "messages": messages})
        outcomes.append(convert_chat_completion(completion, error=kept.error))
        if turn is None or kept.exception or completion is None:
            break
        messages += continue_chat(completion.choices[0].message, turn)
    return join_outcomes(outcomes)


def _stream(run: Any, request: dict[str, Any]) -> tuple[Any, ExceptionKeeper]:
    """Return the completion, as far as it arrived."""
    chat = get_client(run).chat.completions
    keywords = build_keywords(chat.stream, request)
    events: list[Any] = []

    def get_snapshot() -> Any:
        return next((event.snapshot for event in reversed(events) if event.type == "chunk"), None)

    def build() -> dict[str, Any]:
        return convert_chat_completion(get_snapshot(), error=kept.error)

    with ExceptionKeeper(describe_error) as kept:
        if control.is_cancelled(run):
            cancelled = get_async_client(run).chat.completions.stream(**keywords)
            control.read(run, events, build, None, lambda: control.ContextStream(cancelled))
            return get_snapshot(), kept
        with chat.stream(**keywords) as stream:
            control.read(run, events, build, lambda: stream)
            if not control.stops_early(run):
                return stream.get_final_completion(), kept
    return get_snapshot(), kept
