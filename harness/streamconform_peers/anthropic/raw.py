"""`peer:anthropic`: the Anthropic SDK's raw events, aggregated as its documentation shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.anthropic import convert_anthropic_events, convert_anthropic_message
from streamconform.normal.blocks import Error
from streamconform_peers import control
from streamconform_peers.anthropic.errors import (
    build_request,
    describe_error,
    get_client,
)
from streamconform_peers.library_call import ExceptionKeeper


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.create(stream=True)`, or of the non-streaming message."""
    return read_answer(
        run, get_client(run), lambda: get_client(run, anthropic.AsyncAnthropic), describe_error
    )


def read_answer(
    run: Any,
    client: Any,
    get_async_client: Callable[[], Any],
    describe_error: Callable[[Exception], Error | None],
) -> dict[str, Any]:
    """Return the outcome of a run with `client`; `describe_error` is passed to `ExceptionKeeper`."""
    create = client.messages.create
    keywords = build_keywords(create, build_request(run))
    events: list[Any] = []
    message: Any = None
    if not run.stream:
        with ExceptionKeeper(describe_error) as kept:
            message = create(**keywords)
        return convert_anthropic_message(message, ended=kept.exception is None, error=kept.error)
    keywords["stream"] = True
    with ExceptionKeeper(describe_error) as kept:
        control.read(
            run,
            events,
            lambda: convert_anthropic_events(events, error=kept.error),
            lambda: create(**keywords),
            lambda: get_async_client().messages.create(**keywords),
        )
    return convert_anthropic_events(events, error=kept.error)
