"""Responses through the OpenAI SDK, over HTTP and WebSockets: its raw events, and its accumulating helper.

The helper's answer is `get_final_response()`; if that raises, its events are read like raw ones. Over a
WebSocket, the helper is a session, which has a lane for each `stream_id`.
"""

from __future__ import annotations

from typing import Any, Final

from openai.lib.responses_websocket import ResponsesWebSocketLimits, ResponsesWebSocketSession

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import get
from streamconform.normal.responses import RESPONSE_ENDS, convert_response, convert_response_events
from streamconform_peers import control
from streamconform_peers.library_call import ExceptionKeeper
from streamconform_peers.openai.client import build_request, get_async_client, get_client
from streamconform_peers.openai.conversation import continue_responses
from streamconform_peers.openai_errors import describe_error
from streamconform_peers.turns import join_outcomes, list_turns

ENDS: Final = RESPONSE_ENDS | {"error"}
LIMITS: Final = ResponsesWebSocketLimits(
    max_lanes=4, max_events_per_lane=2**20, max_events=2**20, max_bytes_per_lane=2**30, max_bytes=2**30
)
OPTIONS: Final[Any] = {"close_timeout": 1}
"""The library waits ten seconds for the server's close frame, which comes after unread messages."""


def run_raw(run: Any) -> dict[str, Any]:
    """Return the outcome of `responses.create()`, streamed or not; no output means no content."""
    events: list[Any] = []
    if run.transport == "websocket":
        with ExceptionKeeper(describe_error) as kept:
            _read_socket(run, events)
        return convert_response_events(events, error=kept.error)
    create = get_client(run).responses.create
    if not run.stream:
        response: Any = None
        with ExceptionKeeper(describe_error) as kept:
            response = create(**build_keywords(create, build_request(run)))
        return convert_response(None if get(response, "output") is None else response, error=kept.error)
    keywords = build_keywords(create, build_request(run) | {"stream": True})
    with ExceptionKeeper(describe_error) as kept:
        control.read(
            run,
            events,
            lambda: convert_response_events(events, error=kept.error),
            lambda: create(**keywords),
            lambda: get_async_client(run).responses.create(**keywords),
        )
    return convert_response_events(events, error=kept.error)


def run_helper(run: Any) -> dict[str, Any]:
    """Return the outcome of the final response of `responses.stream()`, or of its events if there is none.

    For a conversation with several answers, return that of the first one too.
    """
    if run.transport == "websocket":
        return _run_session(run)
    request = build_request(run)
    items = _list_items(request)
    outcomes: list[dict[str, Any]] = []
    for turn in [*list_turns(run), None]:
        asked = {**request, "input": items} if run.conversation is not None else request
        events, final, kept = _stream(run, asked)
        outcomes.append(convert_response_events(events, final, error=kept.error))
        if turn is None or final is None:
            break
        items += continue_responses(final.output, turn)
    return join_outcomes(outcomes)


def _stream(run: Any, request: dict[str, Any]) -> tuple[list[Any], Any, ExceptionKeeper]:
    """Return the events, and the final response if there is one."""
    responses = get_client(run).responses
    events: list[Any] = []
    final = None
    keywords = build_keywords(responses.stream, request)

    def build() -> dict[str, Any]:
        return convert_response_events(events, error=kept.error)

    with ExceptionKeeper(describe_error) as kept:
        if control.is_cancelled(run):
            cancelled = get_async_client(run).responses.stream(**keywords)
            control.read(run, events, build, None, lambda: control.ContextStream(cancelled))
            return events, None, kept
        with responses.stream(**keywords) as stream:
            control.read(run, events, build, lambda: stream)
            # `get_final_response()` raises unless the response completed.
            if any(event.type == "response.completed" for event in events):
                final = stream.get_final_response()
    return events, final, kept


def _read_socket(run: Any, events: list[Any]) -> None:
    """Append the events of the request's lane up to its end, as in the guide."""
    request = build_event(run)
    with get_client(run).responses.connect(websocket_connection_options=OPTIONS) as connection:
        connection.send(request)
        for event in connection:
            lane = get(event, "stream_id")
            if lane == request.get("stream_id") or (lane is None and event.type == "error"):
                events.append(event)
                if _is_end(event):
                    return


def _run_session(run: Any) -> dict[str, Any]:
    """Return the outcome of `get_final_response()`, or of the events if it raises, for each answer of a lane.

    An answer that failed adds nothing to the input of the next request.
    """
    request = build_event(run)
    items = _list_items(request) if run.conversation is not None else request["input"]
    name = request.pop("stream_id", None)
    outcomes: list[dict[str, Any]] = []
    opened = get_client(run).responses.connect(websocket_connection_options=OPTIONS)
    with opened as connection, ResponsesWebSocketSession(connection, limits=LIMITS) as session:
        lane = session.lane(name) if name else session.default
        for turn in [*list_turns(run), None]:
            events, final, kept = _receive_answer(session, lane, {**request, "input": items})
            outcomes.append(convert_response_events(events, final, error=kept.error))
            if turn is not None:
                items = [*items, *continue_responses([] if final is None else final.output, turn)]
    return join_outcomes(outcomes)


def _receive_answer(session: Any, lane: Any, request: Any) -> tuple[list[Any], Any, ExceptionKeeper]:
    """Return the events of a lane's answer, and the final response if it completed."""
    events: list[Any] = []
    final = None
    with ExceptionKeeper(describe_error) as kept:
        lane.send(request)
        try:
            while not events or not _is_end(events[-1]):
                events.append(lane.recv())
        except EOFError:
            if lane is not session.default:
                events.append(session.default.recv())  # an error of the connection
            raise
        response = lane.get_final_response()
        final = response if response.status == "completed" else None
    return events, final, kept


def _list_items(request: Any) -> list[Any]:
    prompt = request["input"]
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)


def _is_end(event: Any) -> bool:
    """Return whether an answer ends with the event; some servers send errors without a type."""
    return event.type in ENDS or (event.type is None and get(event, "error") is not None)


def build_event(run: Any) -> Any:
    """Return the client's event for the run's request, which has no `stream` over a WebSocket."""
    return {"type": "response.create", **build_request(run)}
