"""Turn the frames of a live server's answers over a WebSocket into checks with stable paths. Pure.

- `websocket.*`: the handshake, the frames, and what becomes of the connection
- the others are as in `checks`; a refusal is an event `error`, or the answer of HTTP to the handshake
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.payloads import Payload, read_payload
from streamconform.model.cassette import SWITCHED
from streamconform.model.verdict import Check
from streamconform.suite.scenarios import Scenario
from streamconform.wire.framings import split
from streamconform.wire.websocket import CLOSE, PONG, list_frames
from streamconform_capture.probe import documents
from streamconform_capture.probe.bad_requests import RefusedRequest
from streamconform_capture.probe.checks import (
    check_answer,
    check_fields,
    check_grammar,
    make_check,
    quote_body,
)
from streamconform_capture.record.live import RawRecording
from streamconform_capture.record.live_socket import PING
from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import SOCKET_GRAMMARS

Json = dict[str, Any]

HANDSHAKE: Final = "websocket.handshake"
CODES: Final = (range(1000, 1004), range(1007, 1015), range(3000, 5000))
"""The codes that a close frame may have. https://www.rfc-editor.org/rfc/rfc6455#section-7.4"""


def check_socket_stream(
    api: str, scenario: Scenario, request: Mapping[str, Any], recording: RawRecording
) -> list[Check]:
    """Return the checks on an answer; one to a refused handshake gets only `websocket.handshake`."""
    is_switched = recording.status == SWITCHED
    message = f"expected 101, got {recording.status}: {quote_body(recording.body)}"
    checks = [make_check(HANDSHAKE, "must", None if is_switched else message)]
    if not is_switched:
        return checks
    checks += _check_connection(api, recording)
    grammar = SOCKET_GRAMMARS[api]
    checks += check_grammar(grammar, grammar.of_body([recording.body], request))
    return [*checks, *check_answer(api, scenario.expected, _decode(api, recording))]


def check_continuation(
    api: str,
    scenario: Scenario,
    request: Mapping[str, Any],
    recordings: tuple[RawRecording, ...],
    *,
    warms_up: bool,
) -> list[Check]:
    """Return the checks on the second of two answers on a connection, which continues the first.

    If the first request only prepares the second, its answer must have no content.
    """
    first, *_, last = recordings if len(recordings) > 1 else recordings * 2
    is_missing = len(recordings) == 1 or (not last.body and last.cut is not None)
    message = f"there is no answer to the second request: {_describe_end(last)}" if is_missing else None
    checks = [make_check("websocket.continued", "must", message)]
    if is_missing:
        return checks
    if warms_up:
        content = _decode(api, first)["content"]
        wrong = f"it has content: {quote_body(json.dumps(content).encode())}" if content else None
        checks.append(make_check("websocket.warm-up", "must", wrong))
    return [*checks, *check_socket_stream(api, scenario, request, last)]


def check_socket_error(api: str, bad_request: RefusedRequest, recording: RawRecording) -> list[Check]:
    """Return the checks on the answer to a bad request."""
    refusal = _find_refusal(recording)
    checks = [
        make_check(
            "websocket.refused",
            bad_request.level,
            None if refusal is not None else f"expected an event `error`; {_describe_start(recording)}",
        )
    ]
    if refusal is None:
        return checks
    status, document = refusal
    expected = " or ".join(map(str, sorted(bad_request.statuses)))
    message = None if status in bad_request.statuses else f"expected {expected}, got {status or 'none'}"
    checks.append(make_check("error.status", "should", message))
    return [*checks, *check_fields("error", document, APIS[api].probing.error)]


def describe_socket_refusal(api: str, recording: RawRecording) -> str | None:
    """Return the status and text of a well-formed refusal, or None."""
    refusal = _find_refusal(recording)
    if refusal is None:
        return None
    status, document = refusal
    errors = documents.check_fields(document, APIS[api].probing.error)
    if any(message for field, message in errors if field.level == "must"):
        return None
    return f"error {status or 'without a status'}: {quote_body(json.dumps(document).encode())}"


def _decode(api: str, recording: RawRecording) -> Mapping[str, Any]:
    """Return the outcome of the reference decoder."""
    decoder = DECODERS[api](status=recording.status, headers=recording.headers)
    decoder.receive_data(recording.body)
    decoder.receive_eof()
    return decoder.outcome.to_json()


def _check_connection(api: str, recording: RawRecording) -> Iterator[Check]:
    """Yield the checks on the frames of an answer, and on what came after it."""
    is_terminal = APIS[api].ending.is_terminal
    is_whole = any(is_terminal(payload) for payload in _read_messages(recording))
    frames = [*list_frames(recording.body)]
    closes = [payload for opcode, payload in frames if opcode == CLOSE]
    is_open, has_pong = recording.cut is None, (PONG, PING) in frames
    end = _describe_end(recording)
    yield make_check("websocket.whole", "must", None if is_whole else f"there is no last event: {end}")
    # https://developers.openai.com/api/docs/guides/websocket-mode: the next request comes on the connection.
    left = f"after the last event, {end}; the connection must stay open for the next request"
    yield make_check("websocket.open", "must", left if is_whole and not is_open else None)
    # https://www.rfc-editor.org/rfc/rfc6455#section-5.5.2
    silent = is_whole and is_open and not has_pong
    yield make_check("websocket.pong", "must", "a ping after the answer got no pong" if silent else None)
    wrong = next((problem for payload in closes if (problem := _find_fault(payload))), None)
    yield make_check("websocket.close-code", "must", wrong)
    # https://www.rfc-editor.org/rfc/rfc6455#section-5.5.1
    unanswered = is_whole and is_open and not closes
    message = "our close frame got none in return" if unanswered else None
    yield make_check("websocket.close", "should", message)


def _find_fault(payload: bytes) -> str | None:
    """Return what is wrong with the payload of a close frame, or None."""
    if not payload:
        return None
    code = int.from_bytes(payload[:2])
    if len(payload) == 1 or not any(code in codes for codes in CODES):
        return f"a close frame has the code {code}, which must not be sent"
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        return "the reason of a close frame is not UTF-8"
    return None


def _find_refusal(recording: RawRecording) -> tuple[int | None, Payload] | None:
    """Return the status and the document of an error before anything else, or None."""
    if recording.status != SWITCHED:
        return recording.status, read_payload(recording.body)
    first = next(_read_messages(recording), None)
    if first is None or first.get("type") != "error":
        return None
    status = first.get("status")
    return status if type(status) is int else None, first


def _read_messages(recording: RawRecording) -> Iterator[Payload]:
    return (read_payload(frame.payload) for frame in split("websocket", recording.body))


def _describe_start(recording: RawRecording) -> str:
    first = next((frame.payload for frame in split("websocket", recording.body)), None)
    return _describe_end(recording) if first is None else f"got {quote_body(first)}"


def _describe_end(recording: RawRecording) -> str:
    closes = [payload for opcode, payload in list_frames(recording.body) if opcode == CLOSE]
    if closes and len(closes[0]) > 1:
        reason = closes[0][2:].decode("utf-8", "replace")
        return f"the server closes with {int.from_bytes(closes[0][:2])}{f' {reason!r}' if reason else ''}"
    if recording.status != SWITCHED:
        return f"the handshake is refused with {recording.status}"
    ends = {"reset": "the server resets the connection", "closed": "the server ends the connection"}
    return ends.get(recording.cut or "", f"the answer is {recording.cut or 'incomplete'}")
