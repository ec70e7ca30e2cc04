"""Split bodies into frames, for framings other than SSE: compared with tables, and joined and split again."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamconform.apis import APIS
from streamconform.wire import eventstream, invoke_stream, json_array, ndjson
from streamconform.wire.framings import _SPLITTERS, replace_payload, split

from . import builders

LINES = [
    ("nothing", b"", []),
    ("blank-lines", b"\n \r\n\t\n", []),
    ("one", b'{"a":1}\n', [b'{"a":1}']),
    ("crlf-and-space", b' {"a":1} \r\n\n2\n', [b'{"a":1}', b"2"]),
    ("last-without-end", b'1\n{"a":1}', [b"1", b'{"a":1}']),
    ("last-cut", b'1\n{"a":', [b"1"]),
    ("broken-inside", b'{"a":\n2\n', [b'{"a":', b"2"]),
    ("cr-is-no-end", b"1\r2\n", [b"1\r2"]),
    ("unicode-line-ends", '"\u2028\u0085"\n'.encode(), ['"\u2028\u0085"'.encode()]),
]

ARRAYS = [
    ("nothing", b"", []),
    ("object", b'{"a":[1]}', []),
    ("page", b"<html>[1,2]", []),
    ("empty", b" [ ] ", []),
    ("one", b'[{"a":1}]', [b'{"a":1}']),
    ("as-sent", b'[{"a": [1, {}]\n}\n,\r\n{"b": 2}\n]\n', [b'{"a": [1, {}]\n}', b'{"b": 2}']),
    ("not-ended", b'[{"a":1}\n,', [b'{"a":1}']),
    ("cut-inside", b'[{"a":1},\r\n{"b":', [b'{"a":1}']),
    ("cut-in-string", b'[{"a":1},{"b":"]}', [b'{"a":1}']),
    ("brackets-in-strings", b'[{"a":"}],[{\\"]"},{"b":"\\\\"}]', [b'{"a":"}],[{\\"]"}', b'{"b":"\\\\"}']),
    ("scalars", b'[1,"a,b", null ,true]', [b"1", b'"a,b"', b"null", b"true"]),
    ("number-that-may-go-on", b"[1,23", [b"1"]),
    ("string-is-whole", b'[1,"a"', [b"1", b'"a"']),
    ("nested-arrays", b"[[1,[2]],[]]", [b"[1,[2]]", b"[]"]),
    ("no-comma", b"[{}{}]", [b"{}", b"{}"]),
    ("broken-element", b'[{"a":},{"b":1}]', [b'{"a":}', b'{"b":1}']),
    ("behind-the-end", b"[1] [2] {}", [b"1"]),
    ("bom", b"\xef\xbb\xbf[{}]", [b"{}"]),
]


@pytest.mark.parametrize(("body", "payloads"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_lines_are_frames(body, payloads):
    assert [frame.payload for frame in ndjson.split(body)] == payloads


@pytest.mark.parametrize(("body", "payloads"), [row[1:] for row in ARRAYS], ids=[row[0] for row in ARRAYS])
def test_elements_are_frames(body, payloads):
    assert [frame.payload for frame in json_array.split(body)] == payloads


def test_frames_of_an_array_are_adjacent_and_include_the_comma_before_the_element():
    body = b"[1\n,\r\n2\n]\n"
    assert [body[frame.start : frame.end] for frame in json_array.split(body)] == [b"[1", b"\n,\r\n2"]


def header(name: bytes, kind: int, value: bytes) -> bytes:
    return bytes((len(name),)) + name + bytes((kind,)) + value


EVERY_TYPE = b"".join(
    (
        header(b"true", 0, b""),
        header(b"false", 1, b""),
        header(b"byte", 2, b"\xff"),
        header(b"short", 3, b"\x00\x01"),
        header(b"integer", 4, b"\x00" * 4),
        header(b"long", 5, b"\x00" * 8),
        header(b"bytes", 6, b"\x00\x03\x00\x01\x02"),
        header(b":date", 8, b"\x00" * 8),
        header(b"uuid", 9, b"\x07" * 16),
        header(b":event-type", 7, b"\x00\x01x"),
    )
)


def broken(at: int, value: bytes) -> bytes:
    """A message with different bytes at `at`, but unchanged checksums."""
    whole = eventstream.encode_event(b"{}", "x")
    return whole[:at] + value + whole[at + len(value) :]


def lying(total: int, headers: int) -> bytes:
    """A prelude with a valid checksum, but with lengths that do not match the data after it."""
    lengths = struct.pack(">II", total, headers)
    return lengths + struct.pack(">I", zlib.crc32(lengths)) + b"\x00" * 60


GOOD = eventstream.encode_event(b'{"a":1}', "x")
MESSAGES = [
    ("nothing", b"", []),
    ("one", GOOD, [("x", b'{"a":1}')]),
    ("exception", eventstream.encode_event(b"{}", "e", "exception"), [("e", b"{}")]),
    ("every-type", eventstream.encode_message(EVERY_TYPE, b"1"), [("x", b"1")]),
    ("no-headers-no-payload", eventstream.encode_message(b"", b""), [(None, b"")]),
    ("error", eventstream.encode_message(header(b":error-code", 7, b"\x00\x01e"), b""), [("e", b"")]),
    ("cut", GOOD + GOOD[:-1], [("x", b'{"a":1}')]),
    ("cut-prelude", GOOD + GOOD[:11], [("x", b'{"a":1}')]),
    ("prelude-checksum", GOOD + broken(8, b"\x00") + GOOD, [("x", b'{"a":1}')]),
    ("message-checksum", GOOD + broken(len(broken(0, b"")) - 1, b"\x00") + GOOD, [("x", b'{"a":1}')]),
    ("too-short", lying(15, 0), []),
    ("headers-beyond-the-message", lying(16, 1), []),
    ("longer-than-the-body", lying(2**32 - 1, 0), []),
    ("unknown-header-type", eventstream.encode_message(header(b"x", 10, b""), b""), []),
    ("header-without-name", eventstream.encode_message(header(b"", 0, b""), b""), []),
    ("header-beyond", eventstream.encode_message(header(b"x", 7, b"\x00\x09x"), b""), []),
    ("header-cut-in-its-length", eventstream.encode_message(header(b"x", 7, b"\x00"), b""), []),
    ("header-cut-in-its-name", eventstream.encode_message(b"\x05ab", b""), []),
    ("json", b'{"message":"The security token included in the request is expired"}', []),
]


@pytest.mark.parametrize(("body", "frames"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_messages_are_frames_up_to_the_first_that_is_broken(body, frames):
    assert [(frame.event, frame.payload) for frame in eventstream.split(body)] == frames


payloads = st.recursive(
    st.none() | st.integers() | st.text(max_size=8).map(lambda text: f'{text}]}}"\\'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
).map(lambda value: json.dumps([value]).encode())
WRITERS = {
    "ndjson": lambda each: b"".join(map(ndjson.encode_line, each)),
    "json_array": lambda each: b"[" + b"".join(map(json_array.encode_element, each))[3:] + b"\n]",
    "eventstream": lambda each: b"".join(eventstream.encode_event(one, "x") for one in each),
    "invoke_stream": invoke_stream.write_chunks,
}


def raw_payload(framed, body, frame):
    """Return the payload at its position in the body, decoded from base64 if the framing uses it."""
    raw = body[slice(*frame.value)]
    return base64.b64decode(raw) if framed == "invoke_stream" and raw != frame.payload else raw


@pytest.mark.parametrize("framed", WRITERS)
@given(st.lists(payloads, max_size=6), st.data())
def test_joined_payloads_are_split_into_the_same_payloads(framed, given_payloads, data):
    body = WRITERS[framed](given_payloads)
    frames = split(framed, body)
    assert [frame.payload for frame in frames] == given_payloads
    for before, after in pairwise(frames):
        assert before.end <= after.start
    for number, frame in enumerate(frames):
        assert raw_payload(framed, body, frame) == frame.payload
        changed = body[: frame.start] + replace_payload(framed, body, frame, b"[7]") + body[frame.end :]
        assert [frame.payload for frame in split(framed, changed)] == [
            *given_payloads[:number],
            b"[7]",
            *given_payloads[number + 1 :],
        ]
    cut = data.draw(st.integers(0, len(body)))
    whole = sum(frame.end <= cut for frame in frames)
    found = [frame.payload for frame in split(framed, body[:cut])]
    assert found[:whole] == given_payloads[:whole]
    assert len(found) <= whole + (framed == "ndjson")  # the last line may lack its line end


@pytest.mark.parametrize("framed", sorted(_SPLITTERS))
@given(st.binary(max_size=80) | st.text('[]{},:"\\ \n1a', max_size=60).map(str.encode))
@example(GOOD[:30] + GOOD)
def test_any_body_has_frames_in_order_inside_it(framed, body):
    end = 0
    for frame in split(framed, body):
        assert end <= frame.start < frame.end <= len(body)
        end = frame.end
        if frame.value is not None:
            assert raw_payload(framed, body, frame) == frame.payload
            assert frame.start <= frame.value[0] <= frame.value[1] <= frame.end


@pytest.mark.parametrize("name", builders.FRAMED)
def test_the_framing_follows_from_the_body(name):
    api, framed, body = builders.FRAMED[name]
    assert APIS[api].detect_framing(200, body) == framed
    assert APIS[api].detect_framing(500, body) == "document"


@pytest.mark.parametrize(
    "api", ["google-generate", "ollama-chat", "cohere-chat", "bedrock-converse", "bedrock-invoke"]
)
@pytest.mark.parametrize(
    "body", [b"", b"<html>\n<p>Bad gateway</p>\n", b'{\n  "error": {\n    "code": 500\n  }\n}\n', b"[]"]
)
def test_a_page_and_an_indented_document_are_no_stream(api, body):
    assert APIS[api].detect_framing(200, body) == "document"


def test_only_a_message_with_blanked_bytes_gets_new_checksums():
    wrong = broken(8, b"\x00")
    before = GOOD + eventstream.encode_event(b'{"id":"secret"}', "x") + wrong
    after = eventstream.update_checksums(before, before.replace(b"secret", b"000000"))
    assert after == GOOD + eventstream.encode_event(b'{"id":"000000"}', "x") + wrong


def chunk(payload):
    return eventstream.encode_event(payload, "chunk")


EVENT = base64.b64encode(b'{"type":"ping"}')
INVOKED = {
    "event": (chunk(b'{"bytes":"%s"}' % EVENT), b'{"type":"ping"}'),
    "padding-first": (chunk(b'{ "p":"ab", "bytes" : "%s" }' % EVENT), b'{"type":"ping"}'),
    "last-of-two": (chunk(b'{"bytes":"AA==","bytes":"%s"}' % EVENT), b'{"type":"ping"}'),
    "escaped": (chunk(b'{"bytes":"Pz8\\/"}'), b"???"),
    "not-base64": (chunk(b'{"bytes":"!"}'), b'{"bytes":"!"}'),
    "not-text": (chunk(b'{"bytes":1}'), b'{"bytes":1}'),
    "no-bytes": (chunk(b'{"p":"ab"}'), b'{"p":"ab"}'),
    "not-an-object": (chunk(b'["bytes"]'), b'["bytes"]'),
    "not-json": (chunk(b"bytes"), b"bytes"),
    "exception": (eventstream.encode_event(b'{"bytes":"AA=="}', "e", "exception"), b'{"bytes":"AA=="}'),
    "other-event": (eventstream.encode_event(b'{"bytes":"AA=="}', "x"), b'{"bytes":"AA=="}'),
}


@pytest.mark.parametrize("name", INVOKED)
def test_only_the_event_of_a_model_is_decoded_from_base64(name):
    body, payload = INVOKED[name]
    (frame,) = split("invoke_stream", body)
    assert frame.payload == payload
    assert replace_payload("invoke_stream", body, frame, payload) == body
    (changed,) = split("invoke_stream", replace_payload("invoke_stream", body, frame, b'{"bytes":7}'))
    assert changed.payload == b'{"bytes":7}'


def test_a_replaced_event_keeps_headers_and_padding():
    body, _ = INVOKED["padding-first"]
    changed = replace_payload("invoke_stream", body, split("invoke_stream", body)[0], b"[7]")
    assert changed == chunk(b'{ "p":"ab", "bytes" : "Wzdd" }')


def test_splitting_takes_linear_time():
    assert len(ndjson.split(b"1\n" * 50_000)) == 50_000
    assert len(json_array.split(b"[" + b"1," * 50_000 + b"]")) == 50_000
    assert json_array.split(b"[" + b'"\\' * 200_000) == ()
    assert json_array.split(b"[" + b"[" * 500_000) == ()
    assert len(eventstream.split(GOOD * 20_000)) == 20_000
