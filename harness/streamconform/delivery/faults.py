"""Break streams: choose where to break them, build the broken streams, and derive their expectations. Pure.

A fault is named by its kind and the number of a frame, so that listing faults needs only the frames' types.

The expectation is neither written by hand nor taken from a parser: it is derived from the case's expectation,
the position of the break, and the way the API ends streams (`Api.ending`). The reference agrees with all
these expectations; because the two are independent, this is evidence for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from streamconform.apis.api import Ending
from streamconform.delivery import websocket
from streamconform.delivery.deliver import MULTIBYTE, cut
from streamconform.delivery.stream import Stream
from streamconform.model.case import Case, Expectation, Partial
from streamconform.model.leaf import AnyOf, Leaf, Literally, list_preferred, list_values
from streamconform.model.outcome import BROKEN_STATUSES, FAILED_REASONS, REASONS
from streamconform.model.trial import Delivered
from streamconform.wire.websocket import INTERNAL_ERROR, NORMAL, encode_close

MAX_FAULTS: Final[Mapping[str, int]] = {
    "cut-after-frame": 14,
    "cut-inside-json": 8,
    "cut-inside-utf8": 4,
    "error-frame": 6,
}
"""Maximum number of faults of each kind per case (32 in total), spread over the possible positions."""

MAX_FAULTS_OVER_HTTP: Final[Mapping[str, int]] = {"reset": 4, "stall": 2}
"""The maximum numbers for faults that need a connection; stalls are few, because each one takes time."""

MAX_FAULTS_OVER_WEBSOCKET: Final[Mapping[str, int]] = {
    "websocket-cut": 4,
    "websocket-close": 4,
    "websocket-error": 4,
}
_SKIPPED_WITH: Final[Mapping[str, str]] = {
    "websocket-cut": "cut-after-frame",
    "websocket-close": "cut-after-frame",
    "websocket-error": "error-frame",
}
"""For each fault over a WebSocket the one that it resembles; a case that skips that one has neither."""

CUT_DOCUMENT: Final = "cut-inside-json"
"""The only fault of a non-streaming answer."""

_BROKEN: Final[dict[str, Leaf]] = {
    "status": AnyOf(BROKEN_STATUSES),
    "stop.reason": AnyOf(FAILED_REASONS),
}
"""The expected leaves for an answer that broke off."""


def list_faults(stream: Stream, *, every: bool, http: bool = False) -> Iterator[str]:
    """Yield the names of a stream's faults in the order of `MAX_FAULTS`: one of each kind, or `every` one.

    Faults that need a connection come after them, and only with `http`, then those over a WebSocket. A body
    that is not in the API's framing has no faults, except that a non-streaming answer is truncated once. The
    stream is broken once for each pair of adjacent frame types, so that every transition in the protocol is
    covered.
    """
    case = stream.case
    # What only a WebSocket has includes its ends, and other answers, which are no part of this one.
    if websocket.is_only(stream):
        return
    skipped = case.skip.faults if case.skip else frozenset[str]()
    if not case.stream:
        if (
            CUT_DOCUMENT not in skipped
            and case.cassette.body.lstrip().startswith(b"{")
            and _is_complete(case)
        ):
            yield f"{CUT_DOCUMENT}.0"
        return
    limits = {
        **MAX_FAULTS,
        **(MAX_FAULTS_OVER_HTTP if http else {}),
        **(MAX_FAULTS_OVER_WEBSOCKET if websocket.can_use(stream) else {}),
    }
    for kind, limit in limits.items():
        if _SKIPPED_WITH.get(kind, kind) not in skipped:
            places = _spread_evenly(PLACES[kind](stream), limit)
            # The name contains the frame's number, not a counter, so that an id keeps its meaning if other
            # places are chosen.
            yield from (f"{kind}.{number}" for number in (places if every else _choose_one(places, stream)))


def break_stream(stream: Stream, name: str) -> Delivered:
    """Return what arrives of `stream` with the fault `name`, and the expectation for it."""
    kind, _, number = name.partition(".")
    return MAKE[kind](stream, int(number)) if stream.case.stream else _cut_document(stream.case)


def _cut_document(case: Case) -> Delivered:
    """Return a non-streaming answer truncated in the middle."""
    body = case.cassette.body.strip()
    fields = _BROKEN | _expect_usage(case, has_usage=False) | _expect_names(case)
    expect = Expectation(case.expect.content, fields, Partial(calls_ended=0))
    return Delivered((body[: len(body) // 2],), expect)


def _is_complete(case: Case) -> bool:
    """Return whether the answer is complete, even if a client may also raise on it."""
    return list_preferred(case.expect.fields.get("status")) == ("complete",)


def _is_refusable(case: Case) -> bool:
    """Return whether a client may raise on the complete answer."""
    return "error" in (list_values(case.expect.fields.get("status")) or ())


def _find_transitions(stream: Stream) -> list[int]:
    """Return the frames after which a transition between two types occurs for the first time."""
    # Some vendors send content after the terminal event. The stream is not broken between the two, because
    # only the case's own expectation can define what is correct there. Nor is it broken after the last frame,
    # because that would be the whole stream.
    last = len(stream.frames) - 1
    return [
        n
        for n in _keep_first_per_transition(stream, range(last))
        if not stream.terminal <= n < stream.settled
    ]


def _find_cuttable(stream: Stream) -> list[int]:
    return _keep_first_per_transition(stream, _list_cuttable(stream))


def _find_multibyte(stream: Stream) -> list[int]:
    numbers = (n for n in _list_cuttable(stream) if MULTIBYTE.search(stream.read_raw_payload(n)))
    return _keep_first_per_transition(stream, numbers)


def _list_cuttable(stream: Stream) -> Iterator[int]:
    """Yield the frames whose payload is an object or an array, so that no prefix of it is valid JSON."""
    for number, frame in enumerate(stream.frames):
        # As in `_find_transitions`, not between the terminal event and later content.
        unsettled = stream.terminal < number <= stream.settled
        if frame.value is not None and frame.payload[:1] in (b"{", b"[") and not unsettled:
            yield number


def _keep_first_per_transition(stream: Stream, numbers: Iterable[int]) -> list[int]:
    """Return the first of `numbers` for each pair of a frame's type and the next frame's type."""
    first: dict[object, int] = {}
    for number in numbers:
        first.setdefault(stream.types[number : number + 2], number)
    return list(first.values())


def _find_before_terminal(stream: Stream) -> list[int]:
    return [n for n in _find_transitions(stream) if n < stream.terminal]


def _find_error_places(stream: Stream) -> list[int]:
    """Return the positions for an error frame: before the end of an otherwise complete stream."""
    known = stream.framing in stream.ending.error_frame
    if not known or not _is_complete(stream.case):
        return []
    places = _find_before_terminal(stream)
    if not _is_refusable(stream.case):
        return places
    # After the stop reason, a client may have raised on purpose before the error arrives.
    ends = (n for n, payload in enumerate(stream.payloads) if stream.ending.is_settled(payload))
    end = next(ends, len(stream.payloads))
    return [n for n in places if n < end]


def _cut_after_frame(stream: Stream, number: int) -> Delivered:
    return _cut_at(stream, stream.frames[number].end, number + 1)


def _disconnect(stream: Stream, number: int) -> Delivered:
    """Return the stream up to the frame after which the connection fails."""
    chunks = cut(stream.body[: stream.frames[number].end], (f.start for f in stream.frames))
    return Delivered(chunks, _expect_break(stream, number + 1))


def _cut_inside_json(stream: Stream, number: int) -> Delivered:
    start, stop = stream.frames[number].value or (0, 0)
    # The opening bracket always arrives, so that the cut is inside the payload even if it is `{}`.
    return _cut_at(stream, (start + 1 + stop) // 2, number)


def _cut_inside_utf8(stream: Stream, number: int) -> Delivered:
    start, _ = stream.frames[number].value or (0, 0)
    match = MULTIBYTE.search(stream.read_raw_payload(number))
    assert match is not None, "only frames with such a character are chosen"
    return _cut_at(stream, start + match.start() + 1, number)


def _append_error_frame(stream: Stream, number: int) -> Delivered:
    body = stream.body[: stream.frames[number].end]
    frames = cut(body, (frame.start for frame in stream.frames))
    return Delivered((*frames, stream.ending.error_frame[stream.framing]), _expect_error(stream, number + 1))


def _cut_socket(stream: Stream, number: int) -> Delivered:
    """Return the messages up to an event, after which the connection ends without a close frame."""
    return Delivered(websocket.frame_messages(stream, number + 1), _expect_break(stream, number + 1))


def _close_socket(stream: Stream, number: int) -> Delivered:
    """Return the messages up to an event, and a clean close: it ends the connection, not the answer."""
    messages = websocket.frame_messages(stream, number + 1)
    return Delivered((*messages, encode_close(NORMAL)), _expect_break(stream, number + 1))


def _fail_socket(stream: Stream, number: int) -> Delivered:
    """Return the messages up to an event, the provider's error, and the close that follows it."""
    messages = websocket.frame_messages(stream, number + 1)
    end = (stream.ending.error_frame["websocket"], encode_close(INTERNAL_ERROR))
    return Delivered((*messages, *end), _expect_error(stream, number + 1))


def _expect_error(stream: Stream, whole: int) -> Expectation:
    """Return the expectation if the provider's error comes after `whole` frames."""
    ending = stream.ending
    fields: dict[str, Leaf] = {"status": Literally("error"), "stop.reason": AnyOf(FAILED_REASONS)}
    # A client that may refuse the answer may have raised its own error before this one arrives.
    if not _is_refusable(stream.case):
        fields["error.type"] = _expect_error_type(ending)
        fields["error.message"] = Literally(ending.error_message)
    return _expect_partial(stream, whole, fields)


def _expect_error_type(ending: Ending) -> Leaf:
    if not ending.error_names:
        return Literally(ending.error_type)
    accepted = (ending.error_type, *ending.error_names)
    return AnyOf(accepted, "the provider's name for the error, or an accepted alternative")


def _cut_at(stream: Stream, offset: int, whole: int) -> Delivered:
    """Return the stream up to byte `offset`; this part contains `whole` complete frames."""
    chunks = cut(stream.body[:offset], (frame.start for frame in stream.frames))
    if whole > stream.terminal:
        is_inside_frame = offset != stream.frames[whole - 1].end
        expect = _expect_after_terminal(stream, whole, is_inside_frame=is_inside_frame)
        return Delivered(chunks, expect)
    return Delivered(chunks, _expect_break(stream, whole))


def _expect_break(stream: Stream, whole: int) -> Expectation:
    """Return the expectation if only `whole` frames of the stream arrived, no matter how the rest was lost.

    `incomplete` and a client's own error are both correct: no provider documents how a client should report a
    break, and raising is safe. If only the terminal event is missing, no content is lost, so `complete`
    passes too.
    """
    fields = dict(_BROKEN)
    if any(stream.ending.is_settled(payload) for payload in stream.payloads[:whole]):
        fields["status"] = AnyOf(("complete", *BROKEN_STATUSES), preferred=BROKEN_STATUSES)
        fields["stop.reason"] = _add_failed_reasons(stream.case.expect)
    return _expect_partial(stream, whole, fields)


def _add_failed_reasons(expect: Expectation) -> Leaf:
    """Return a leaf that accepts the complete stream's stop reason and the stop reasons of broken streams."""
    values = list_values(expect.fields.get("stop.reason")) or REASONS
    return AnyOf(tuple(dict.fromkeys((*values, *FAILED_REASONS))))


def _expect_partial(stream: Stream, whole: int, status: Mapping[str, Leaf]) -> Expectation:
    """Return the expectation for a stream broken before its end: prefixes, and no unfinished tool call."""
    case, arrived = stream.case, stream.payloads[:whole]
    fields = dict(status) | _expect_usage(case, has_usage=stream.first_usage < whole) | _expect_names(case)
    partial = Partial(stream.ending.count_ended_calls(arrived), _count_arrived_text(stream, whole))
    return Expectation(case.expect.content, fields, partial)


def _count_arrived_text(stream: Stream, whole: int) -> int:
    """Return the minimum number of characters of the expected text that the first `whole` frames contain.

    This does not parse the format: a string under one of the API's text keys is a delta if the expected text
    continues with it.
    """
    texts = [block.fields.get("text") for block in stream.case.expect.content or () if block.type == "text"]
    expected = "".join(text.value for text in texts if isinstance(text, Literally))
    if not all(isinstance(text, Literally) for text in texts):
        return 0
    count = 0
    for text in chain.from_iterable(stream.texts[:whole]):
        if expected.startswith(text, count):
            count += len(text)
    return count


def _expect_after_terminal(stream: Stream, whole: int, *, is_inside_frame: bool) -> Expectation:
    """Return the case's own expectation; if a frame with usage was lost, usage and cost may differ.

    If such a frame or the final `[DONE]` was lost, the stream may also be reported as broken.
    """
    expect, lost = stream.case.expect, [frame.payload for frame in stream.frames[whole:]]
    fields = dict(expect.fields)
    # Found by a text search, since each API puts usage in a different place. A false match only means that
    # usage is not judged.
    loses_usage = any(b"usage" in payload for payload in lost)
    if loses_usage:
        fields = {path: leaf for path, leaf in fields.items() if not path.startswith(("usage", "cost"))}
        fields |= _expect_usage(stream.case, has_usage=stream.first_usage < whole)
    # Bytes of an unfinished frame show that the answer was cut, and the usage may have been in that frame.
    has_ended = any(frame.payload.strip() == b"[DONE]" for frame in stream.frames[:whole])
    usage_follows = stream.ending.usage_follows and not has_ended
    may_cut_usage = is_inside_frame and usage_follows and stream.first_usage >= whole
    statuses = list_values(fields["status"]) or ()
    if (loses_usage or may_cut_usage or b"[DONE]" in lost) and "complete" in statuses:
        preferred = BROKEN_STATUSES if may_cut_usage else statuses
        fields["status"] = AnyOf(tuple(dict.fromkeys((*statuses, *BROKEN_STATUSES))), preferred=preferred)
        fields["stop.reason"] = _add_failed_reasons(expect)
        # A complete case expects `error: null` by default, but a client that raises because of the break
        # reports an error. Its exception need not name the stop reason.
        fields.pop("error", None)
        for path in ("stop.raw", "stop.sequence", "stop.details"):
            if values := list_values(fields.get(path)):
                fields[path] = AnyOf((*values, None))
    return replace(expect, fields=fields)


def _expect_usage(case: Case, *, has_usage: bool) -> dict[str, Leaf]:
    """Return a leaf per judged bucket that accepts null, the final value, or any earlier value.

    `has_usage` says whether any usage report arrived. Sources disagree on whether a count that was never
    given may be reported as 0, so that is a warning. After a count was given, 0 is wrong.
    """
    leaves: dict[str, Leaf] = {}
    for path, leaf in case.expect.fields.items():
        group, _, bucket = path.partition(".")
        values = list_preferred(leaf)
        if group == "usage" and bucket and values is not None:
            earlier = tuple(getattr(report, bucket) for report in case.usage_seen)
            accepted = tuple(dict.fromkeys((None, *values, *earlier)))
            was_given = has_usage and any(count is not None for count in earlier)
            leaves[path] = AnyOf(accepted) if was_given else _add_zero(accepted)
    return leaves


def _add_zero(accepted: tuple[Any, ...]) -> Leaf:
    return AnyOf(accepted) if 0 in accepted else AnyOf((*accepted, 0), preferred=accepted)


def _expect_names(case: Case) -> dict[str, Leaf]:
    """Return leaves for model and response id that accept the final value, null, or an earlier model."""
    # The model may change during a stream: after Anthropic's fallback, a later block names another one.
    earlier = {"model": case.models_seen, "response_id": ()}
    leaves = {name: list_values(case.expect.fields.get(name)) for name in earlier}
    return {
        name: AnyOf((None, *values, *earlier[name])) for name, values in leaves.items() if values is not None
    }


def _spread_evenly(places: Sequence[int], limit: int) -> list[int]:
    last = len(places) - 1
    return list(places) if last < limit else [places[i * last // (limit - 1)] for i in range(limit)]


def _choose_one(places: Sequence[int], stream: Stream) -> list[int]:
    """Return the position most likely to reveal bugs: the last one between two content frames.

    At that point, a text or a call is incomplete, so a client can get it wrong. Between the last two frames,
    nothing is incomplete.
    """
    carriers = stream.carriers
    candidates = (
        [n for n in places if {n, n + 1} <= carriers],
        [n for n in places if carriers and min(carriers) <= n < max(carriers)],
        [n for n in places if n < stream.terminal],
        list(places),
    )
    return next((chosen for chosen in candidates if chosen), [])[-1:]


PLACES: Final[Mapping[str, Callable[[Stream], list[int]]]] = {
    "cut-after-frame": _find_transitions,
    "cut-inside-json": _find_cuttable,
    "cut-inside-utf8": _find_multibyte,
    "error-frame": _find_error_places,
    "reset": _find_before_terminal,
    "stall": _find_before_terminal,
    "websocket-cut": _find_before_terminal,
    "websocket-close": _find_before_terminal,
    "websocket-error": _find_error_places,
}
"""For each kind of fault, the function that returns the frames at which it is possible."""

MAKE: Final[Mapping[str, Callable[[Stream, int], Delivered]]] = {
    "cut-after-frame": _cut_after_frame,
    "cut-inside-json": _cut_inside_json,
    "cut-inside-utf8": _cut_inside_utf8,
    "error-frame": _append_error_frame,
    "reset": _disconnect,
    "stall": _disconnect,
    "websocket-cut": _cut_socket,
    "websocket-close": _close_socket,
    "websocket-error": _fail_socket,
}
"""For each kind of fault in `PLACES`, the function that builds the broken stream."""
