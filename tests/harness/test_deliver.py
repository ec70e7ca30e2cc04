"""Every delivery of every bundled cassette has the same meaning, with different bytes or cuts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import accumulate

import pytest

from streamconform.apis import APIS
from streamconform.delivery.deliver import WINDOW, cut, deliver
from streamconform.delivery.mangle import MANGLERS, UNKNOWN_MEMBER, mangle
from streamconform.delivery.stream import Stream
from streamconform.model.cassette import Cassette
from streamconform.model.trial import DELIVERIES, DELIVERY_SETS, WINDOWS, find_transport
from streamconform.wire import eventstream, invoke_stream, sse
from streamconform.wire.framings import MESSAGE_REWRITERS, split

from .. import bundled_suite
from . import builders

SENT = tuple(name for name, each in DELIVERIES.items() if "bytes" in each.inputs)
CUTTING = tuple(name for name in SENT if name not in MANGLERS and find_transport(name) == "http")
UNKNOWN = json.loads(b"{" + UNKNOWN_MEMBER + b"}")


def delivered(cassette: Cassette, name: str, seed: str = "0") -> tuple[bytes, ...]:
    return deliver(Stream(replace(builders.case(), api=cassette.api, cassette=cassette)), name, seed)


@cache
def applicable(name: str) -> tuple[Cassette, ...]:
    return tuple(
        each
        for each in (*bundled_suite.sample(bundled_suite.cassettes()), *builders.framed_cassettes())
        if APIS[each.api].detect_framing(each.status, each.body) in DELIVERIES[name].framings
    )


@cache
def texts(name: str) -> tuple[Cassette, ...]:
    """The applicable deliveries whose bytes are all text."""
    return tuple(each for each in applicable(name) if APIS[each.api].framing not in MESSAGE_REWRITERS)


def without_unknown(value):
    if isinstance(value, dict):
        return {k: without_unknown(v) for k, v in value.items() if (k, v) not in UNKNOWN.items()}
    return [without_unknown(each) for each in value] if isinstance(value, list) else value


def contents(api: str, body: bytes) -> list[tuple[str | None, bytes]]:
    return [(each.event, each.payload) for each in split(APIS[api].detect_framing(200, body), body)]


UNKNOWN_EVENTS = [
    json.loads(payload)
    for api in APIS.values()
    for framed, unknown in api.extensions.event.items()
    for _, payload in [
        (frame.event, frame.payload)
        for frame in split(framed, b"[1" + unknown + b"]" if framed == "json_array" else unknown)
    ][-1:]
]


def payloads(api: str, body: bytes) -> list[object]:
    found = []
    for event, payload in contents(api, body):
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            value = payload
        if any(key.encode() in payload for key in UNKNOWN):
            value = without_unknown(value)
        if value not in UNKNOWN_EVENTS:
            found.append((event, value))
    return found


@cache
def own_payloads(api: str, body: bytes) -> list[object]:
    return payloads(api, body)


@pytest.mark.parametrize("name", CUTTING)
def test_a_delivery_that_cuts_changes_no_byte_and_leaves_no_chunk_empty(name):
    for cassette in applicable(name):
        chunks = delivered(cassette, name)
        assert all(chunks), cassette.name
        assert b"".join(chunks) == cassette.body, cassette.name


SPACES = {"padding": set(b" \t\r\n")}
KEEPING = ("comments", "unknown-event", "unknown-field", "padding", "bom", "multiline-data")


@pytest.mark.parametrize("name", sorted(MANGLERS))
def test_a_delivery_that_mangles_keeps_payloads_and_leaves_no_chunk_empty(name):
    """Every body is changed only once for all assertions, because that takes most of the time."""
    changed = False
    for cassette in applicable(name):
        chunks = delivered(cassette, name)
        body = b"".join(chunks)
        changed = changed or body != cassette.body
        assert all(chunks), cassette.name
        assert payloads(cassette.api, body) == own_payloads(cassette.api, cassette.body), cassette.name
        if name in KEEPING and APIS[cassette.api].framing not in MESSAGE_REWRITERS:
            # except for line ends and optional spaces, every byte of the body is preserved
            lost = Counter(cassette.body) - Counter(body)
            assert set(lost) <= SPACES.get(name, set()), cassette.name
    assert changed, "it changes some body"


@pytest.mark.parametrize("name", sorted(MANGLERS))
def test_a_delivery_that_mangles_is_the_mangler_cut_somewhere(name):
    # a few bodies per API are enough, because this does not depend on the body
    for cassette in applicable(name)[::20]:
        assert b"".join(delivered(cassette, name)) == mangle(cassette.body, cassette.api, name)


def test_no_two_deliveries_change_a_body_into_the_same_bytes():
    """This is why a delivery that changes a body is a trial of its own, without comparing bytes."""
    for cassette in bundled_suite.cassettes()[::20]:
        framing = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
        names = [name for name in MANGLERS if framing in DELIVERIES[name].framings]
        made = [mangle(cassette.body, cassette.api, name) for name in names]
        changed = [body for body in made if body != cassette.body]
        assert len(set(changed)) == len(changed), cassette.name


@pytest.mark.parametrize("name", sorted(MANGLERS))
def test_every_edit_changes_something(name):
    """A body without edits is delivered unchanged, which decides whether there is such a trial."""
    for cassette in applicable(name)[::20]:
        for edit in MANGLERS[name](cassette.body, cassette.api):
            assert cassette.body[edit.start : edit.stop] != edit.text, cassette.name


def test_utf8_split_cuts_inside_every_character_of_several_bytes():
    text = "aé€😀z".encode()
    made = builders.cassette(b"data: " + text + b"\n\n")
    chunks = delivered(made, "utf8-split")
    assert chunks == (b"data: a\xc3", b"\xa9\xe2", b"\x82", b"\xac\xf0", b"\x9f", b"\x98", b"\x80z\n\n")
    for cassette in texts("utf8-split"):
        starts = {0}
        for chunk in delivered(cassette, "utf8-split"):
            starts.add(max(starts) + len(chunk))
        continued = {i for i, byte in enumerate(cassette.body) if 0x80 <= byte < 0xC0}
        assert continued <= starts, cassette.name


def test_crlf_is_cut_between_its_two_bytes():
    for cassette in applicable("crlf"):
        chunks = delivered(cassette, "crlf")
        assert all(b"\r\n" not in chunk for chunk in chunks)
        assert sum(chunk.endswith(b"\r") for chunk in chunks) >= b"".join(chunks).count(b"\r\n")


def test_bytewise_is_one_byte_a_chunk_and_whole_is_one_chunk():
    made = builders.cassette()
    assert {len(chunk) for chunk in delivered(made, "bytewise")} == {1}
    assert delivered(made, "whole") == (made.body,)


def test_recorded_cuts_at_the_marks_or_else_at_the_frames():
    marked = builders.cassette(marks=[(0, 1), (10, 2), (11, 3)])
    assert [len(chunk) for chunk in delivered(marked, "as-is")] == [10, 1, len(marked.body) - 11]
    frames = delivered(builders.cassette(), "as-is")
    assert [chunk.partition(b"\n")[0] for chunk in frames] == [
        b"event: " + each["type"].encode() for each in builders.TEXT_FRAMES
    ]


def test_random_follows_the_seed():
    made = builders.cassette()
    assert delivered(made, "random", "a") == delivered(made, "random", "a")
    assert delivered(made, "random", "a") != delivered(made, "random", "b")


PLACES = (b"}\n\n", b"\r\n", b"\ndata:", b"},\n{", b"\0\0\0", rb"\ud83d\ude00", rb"\"", "é".encode())


@pytest.mark.parametrize("place", PLACES, ids=repr)
def test_windows_are_single_bytes_at_both_ends_a_random_place_and_where_parsers_go_wrong(place):
    body = b"x" * 500 + place + b"x" * 500
    chunks = delivered(builders.cassette(body=body), "windows")
    assert b"".join(chunks) == body
    cuts = set(accumulate(map(len, chunks)))
    assert cuts >= {*range(1, WINDOW), *range(len(body) - WINDOW // 2, len(body))}
    assert cuts >= set(range(501, 500 + len(place))), "the place is cut at every byte"
    assert len(chunks) < 6 * WINDOW, "most of the body is uncut"


def test_windows_follow_the_seed():
    made = builders.cassette(body=b"x" * 1000)
    assert (
        delivered(made, "windows", "a") == delivered(made, "windows", "a") != delivered(made, "windows", "b")
    )


def test_only_comparisons_deliver_windows():
    assert not any(WINDOWS in names for names in DELIVERY_SETS.values())


MANGLED = [
    ("cr", b"data: 1\r\n\r\ndata: 2\n\n", b"data: 1\r\rdata: 2\r\r"),
    ("crlf", b"\xef\xbb\xbfdata: 1\r\rdata: 2", b"\xef\xbb\xbfdata: 1\r\n\r\ndata: 2"),
    ("bom", b"\xef\xbb\xbfdata: 1\n\n", b"\xef\xbb\xbfdata: 1\n\n"),
    ("no-space", b"event: x\ndata:  1\nid: 3\n\n", b"event:x\ndata:  1\nid: 3\n\n"),
    ("no-space", b"data: \n\n", b"data:\n\n"),
    ("comments", b"data: 1\n\ndata: 2\n\n", b": keep-alive\n\ndata: 1\n\n: keep-alive\n\ndata: 2\n\n"),
    ("padding", b"data: [1,2]\n\n", b"data: [ \t1 \t, \t2 \t]\n\n"),
    ("padding", b"data: [DONE]\n\n", b"data: [DONE]\n\n"),
    ("padding", b"data: [1,\ndata: 2]\n\n", b"data: [1,\ndata: 2]\n\n"),
    ("key-order", b'data: {"a":1,"b":2}\n\n', b'data: {"b":2,"a":1}\n\n'),
    ("multiline-data", b"data: [1,2,3,4]\n\n", b"data: [1,2,\ndata: 3,4]\n\n"),
    (
        "unknown-field",
        b'data: {"delta":{}}\n\n',
        b'data: {"delta":{' + UNKNOWN_MEMBER + b"}," + UNKNOWN_MEMBER + b"}\n\n",
    ),
]


@pytest.mark.parametrize(("name", "body", "expected"), MANGLED)
def test_a_mangler_changes_the_body_as_named(name, body, expected):
    assert mangle(body, builders.ANTHROPIC, name) == expected


NEW = b'{"futureChunk":{"n":1}}'
FRAMED = [
    ("unknown-event", "google-generate", b"[1\n,\r\n2]", b"[1,\r\n" + NEW + b"\n,\r\n2]"),
    (
        "unknown-event",
        "google-generate",
        b"data: 1\n\ndata: 2\n\n",
        b"data: 1\n\ndata: " + NEW + b"\n\ndata: 2\n\n",
    ),
    ("padding", "google-generate", b"[{},{}]", b"[{ \t},{ \t}]"),
    ("unknown-field", "google-generate", b'[{"a":1}\n]', b'[{"a":1,' + UNKNOWN_MEMBER + b"}\n]"),
    ("key-order", "ollama-chat", b'{"a":1,"b":2}\r\n\n{"c":\n', b'{"b":2,"a":1}\r\n\n{"c":\n'),
    ("padding", "cohere-chat", b'{"a":1}\n{"b"', b'{ \t"a" \t: \t1 \t}\n{"b"'),
    ("unknown-event", "ollama-chat", b"<html>\n<p>\n", b"<html>\n<p>\n"),
    (
        "unknown-field",
        "bedrock-converse",
        eventstream.encode_event(b'{"a":1}', "metadata") + b"\x00\x00",
        eventstream.encode_event(b'{"a":1,' + UNKNOWN_MEMBER + b"}", "metadata") + b"\x00\x00",
    ),
    (
        "unknown-event",
        "bedrock-converse",
        eventstream.encode_event(b"1", "a") + eventstream.encode_event(b"2", "b"),
        eventstream.encode_event(b"1", "a")
        + eventstream.encode_event(b'{"n":1}', "futureEvent")
        + eventstream.encode_event(b"2", "b"),
    ),
    (
        "key-order",
        "bedrock-invoke",
        invoke_stream.encode_event(b'{"a":1,"b":2}') + eventstream.encode_event(b'{"c":1,"d":2}', "x"),
        invoke_stream.encode_event(b'{"b":2,"a":1}') + eventstream.encode_event(b'{"d":2,"c":1}', "x"),
    ),
]


@pytest.mark.parametrize(("name", "api", "body", "expected"), FRAMED)
def test_a_mangler_keeps_the_framing_of_the_body(name, api, body, expected):
    assert mangle(body, api, name) == expected


def test_unknown_events_come_between_frames_and_never_after_the_last():
    body = mangle(b"data: 1\n\ndata: 2\n\ndata: 3\n\n", builders.ANTHROPIC, "unknown-event")
    assert [frame.event for frame in sse.split(body)] == [None, "future_event"] * 2 + [None]


@pytest.mark.parametrize("name", sorted(MANGLERS))
def test_a_cut_last_frame_stays_cut(name):
    body = b'data: {"a":1}\n\ndata: {"b":'
    assert payloads(builders.ANTHROPIC, mangle(body, builders.ANTHROPIC, name)) == [(None, {"a": 1})]


def test_cutting_ignores_places_outside_the_body_and_twice_the_same():
    assert cut(b"abc", [0, 1, 1, 3, 9, -1]) == (b"a", b"bc")
    assert cut(b"", [0]) == ()
