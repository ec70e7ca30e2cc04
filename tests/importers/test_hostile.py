"""Hostile and damaged files: each exchange becomes a cassette or is skipped with a plain reason."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest
import yaml

from streamconform.errors import SourceError
from streamconform.wire import eventstream
from streamconform_capture.importers import import_file
from streamconform_capture.importers.litellm import RECIPE

from .test_formats import BODY, REQUEST, flow, har, httprr, tnetstring

GOOD = {"text": BODY.decode()}
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse-stream"
MESSAGES = [
    eventstream.encode_event(b'{"role":"assistant"}', "messageStart"),
    eventstream.encode_event(
        b'{"delta":{"text":"Gr\xc3\xbc\xc3\x9f"},"contentBlockIndex":0}', "contentBlockDelta"
    ),
    eventstream.encode_event(b'{"stopReason":"end_turn"}', "messageStop"),
]


def changed_har(change):
    """Return a HAR of a good entry, one that `change` has changed, and a good one."""
    document = json.loads(har(GOOD))
    entries = document["log"]["entries"]
    entries += [json.loads(json.dumps(entries[0])) for _ in range(2)]
    change(entries[1])
    return json.dumps(document).encode()


def changing(*path, to):
    def change(entry):
        for key in path[:-1]:
            entry = entry[key]
        entry[path[-1]] = to

    return change


ENTRIES = {
    "a url with a broken address": (("request", "url"), "http://[bad/v1/messages", "its URL is not valid"),
    "a url with a bad host": (("request", "url"), "http://a\u2100b/v1/messages", "its URL is not valid"),
    "a url with half a character": (("request", "url"), "https://x/v1?\ud800", "its URL is not valid"),
    "an endless status": (("response", "status"), float("inf"), "its status is a decimal number"),
    "a negative status": (("response", "status"), -200, "its status is not between 100 and 599"),
    "a status of 999": (("response", "status"), 999, "its status is not between 100 and 599"),
    "a huge status": (("response", "status"), 10**30, "its status is not between 100 and 599"),
    "a truth value as a status": (("response", "status"), True, "its status is a truth value"),
    "a number as headers": (("response", "headers"), 5, "`headers` is a whole number, expected a list"),
    "a list as a header": (("response", "headers"), [{"name": "a", "value": []}], "value is a list"),
    "a body that is a list": (("response", "content"), [1], "`content` is a list, expected a mapping"),
    "half a character in the body": (("response", "content", "text"), "\ud800", "half of a surrogate pair"),
    "no request": (("request",), None, "`request` is missing"),
    "an entry of another type": (("response",), 7, "`response` is a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_a_bad_entry_of_a_har_is_skipped_and_the_others_are_imported(name):
    path, value, why = ENTRIES[name]
    found = import_file(Path("a.har"), changed_har(changing(*path, to=value)), None, None)
    assert [each.body for each in found.cassettes] == [BODY, BODY]
    (skipped,) = found.skipped
    assert skipped.origin == "a.har, entry 2 of 3"
    assert why in skipped.why
    assert found.count == 3


REQUESTED = {
    "method": b"POST",
    "scheme": b"https",
    "host": b"api.anthropic.com",
    "path": b"/v1/messages",
    "headers": [],
}
ANSWERED = {"status_code": 200, "headers": [], "content": BODY}
FLOWS = {
    "a number as a body": ("response", ANSWERED | {"content": 10**9}, "response body is a whole number"),
    "a list as a body": ("response", ANSWERED | {"content": [1, 2, 300]}, "its response body is a list"),
    "text as a body": ("response", ANSWERED | {"content": "text"}, "response body is text, expected bytes"),
    "a short header": ("response", ANSWERED | {"headers": [[b"a"]]}, "a header is not a name and a value"),
    "headers by name": ("response", ANSWERED | {"headers": {"a": b"b"}}, "`headers` is a mapping"),
    "an endless status": ("response", ANSWERED | {"status_code": float("inf")}, "status is a decimal number"),
    "a list as a request": ("request", REQUESTED | {"content": [b"x"]}, "request body is a list"),
    "a number as a request": ("request", REQUESTED | {"content": 7}, "request body is a whole number"),
    "a broken host": ("request", REQUESTED | {"host": b"[bad"}, "its URL is not valid"),
    "no host": ("request", {"method": b"POST", "headers": []}, "its scheme is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOWS)
def test_a_bad_flow_is_skipped_and_the_others_are_imported(name):
    key, value, why = FLOWS[name]
    data = flow(BODY) + flow(BODY, **{key: value}) + flow(BODY)
    found = import_file(Path("a.flow"), data, None, None)
    assert [each.body for each in found.cassettes] == [BODY, BODY]
    assert [why in each.why for each in found.skipped] == [True]


def cassette(*interactions, **extra):
    request = {"method": "POST", "uri": "https://api.anthropic.com/v1/messages", "headers": {}, "body": "{}"}
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": BODY.decode()}}
    items = [
        {"request": request | item.get("request", {}), "response": response | item.get("response", {})}
        for item in interactions
    ]
    return yaml.dump({**extra, "version": 1, "interactions": items}).encode()


def test_aliases_in_a_header_are_not_written_out():
    value = ["x"] * 9
    for _ in range(30):
        value = [value] * 9
    found = import_file(Path("a.yaml"), cassette({}, {"response": {"headers": {"x": value}}}), None, None)
    assert [each.body for each in found.cassettes] == [BODY]
    assert [each.why for each in found.skipped] == ["a header's value is a list, expected text"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("!!python/object/apply:os.system ['true']", "could not determine a constructor for the tag"),
        ("!!binary 'a'", "failed to decode base64 data"),
        (f"0b{'1' * 60_000}", "its response has no readable body"),
    ],
)
def test_yaml_that_cannot_be_constructed_costs_only_its_interaction(text, why):
    data = cassette({}, {"response": {"body": {"string": "HERE"}}}, {}).replace(b"HERE", text.encode())
    found = import_file(Path("a.yaml"), data, None, None)
    assert len(found.cassettes) == 2
    assert [why in each.why for each in found.skipped] == [True]


def test_a_body_that_looks_like_a_date_is_text():
    data = cassette({"response": {"status": {"code": 500}, "body": {"string": "HERE"}}})
    (made,) = import_file(Path("a.yaml"), data.replace(b"HERE", b"2020-99-99"), None, None).cassettes
    assert made.body == b"2020-99-99"


CUT = {
    "flow": ("a.flow", flow(BODY) * 3, "flow 3", "the value at byte"),
    "httprr": (
        "a.httprr",
        httprr(BODY, chunked=False) + 2 * httprr(BODY, chunked=False).removeprefix(b"httprr trace v1\n"),
        "exchange 3",
        "exchange 3 is longer than the file",
    ),
}


@pytest.mark.parametrize("name", CUT)
def test_a_cut_file_keeps_the_exchanges_before_the_cut_and_names_the_rest(name):
    file, data, where, why = CUT[name]
    found = import_file(Path(file), data[:-9], None, None)
    assert [each.body for each in found.cassettes] == [BODY, BODY]
    (skipped,) = found.skipped
    assert skipped.origin == f"{file}, {where}"
    assert why in skipped.why
    assert "bytes are not read" in skipped.why


def aws(body):
    headers = [[b"content-type", b"application/vnd.amazon.eventstream"]]
    answer = {"status_code": 200, "headers": headers, "content": body}
    host, _, path = BEDROCK.removeprefix("https://").partition("/")
    asked = REQUESTED | {"host": host, "path": f"/{path}", "content": b"{}"}
    return import_file(Path("a.flow"), flow(BODY, request=asked, response=answer), None, None)


def test_an_event_stream_with_a_wrong_checksum_is_refused():
    whole = b"".join(MESSAGES)
    place = len(MESSAGES[0]) + 30
    found = aws(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert found.cassettes == ()
    assert [each.why for each in found.skipped] == [
        f"message 2, at byte {len(MESSAGES[0])}, has a wrong length or checksum"
    ]


@pytest.mark.parametrize("errors", ["replace", "ignore", "backslashreplace"])
def test_an_event_stream_that_was_decoded_as_text_is_refused(errors):
    found = aws(b"".join(MESSAGES).decode("utf-8", errors).encode())
    assert found.cassettes == ()
    (skipped,) = found.skipped
    assert "its content type is application/vnd.amazon.eventstream, but its" in skipped.why
    assert ("the recorder decoded it as text, and lost the bytes at" in skipped.why) == (errors == "replace")


def test_an_event_stream_that_ends_inside_a_message_is_imported_and_says_so():
    found = aws(b"".join(MESSAGES)[:-9])
    (made,) = found.cassettes
    assert made.body == b"".join(MESSAGES)[:-9]
    assert found.damage == {"a": f"The last {len(MESSAGES[2]) - 9} bytes are not a complete message."}
    assert "are not a complete message" in made.provenance.note


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"PK\x03\x04\x00", b"null but not JSON"])
def test_a_body_without_frames_under_the_content_type_of_a_stream_is_refused(body):
    found = import_file(Path("a.flow"), flow(body), None, None)
    assert found.cassettes == ()
    assert [each.why for each in found.skipped] == [
        f"its content type is text/event-stream, but its {len(body)} bytes have no frame"
    ]


@pytest.mark.parametrize(
    "body", [b": processing\n\n", b"event: message_st", b'{"error": {"type": "x"}}', b"data"]
)
def test_a_stream_that_ends_before_its_first_frame_and_an_error_in_its_place_are_imported(body):
    assert [each.body for each in import_file(Path("a.flow"), flow(body), None, None).cassettes] == [body]


def test_replacement_characters_in_text_are_imported_and_pointed_out():
    body = BODY.replace(b"Hi", b"H\xef\xbf\xbd") if b"Hi" in BODY else BODY + b": \xef\xbf\xbd\n\n"
    found = import_file(Path("a.flow"), flow(body), None, None)
    assert "The body has U+FFFD in 1 places" in found.damage["a"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"size": len(BODY) + 1}, f"`content.size` is {len(BODY) + 1} bytes, but `text` has {len(BODY)}"),
        ({"size": 5000, "text": ""}, "`content.size` is 5000 bytes, but `text` has 0"),
        ({"size": len(BODY) + 20, "compression": -20}, None),
        ({"size": len(BODY)}, None),
        ({"size": -1}, None),
    ],
)
def test_a_har_whose_text_is_shorter_than_its_size_is_refused(content, why):
    found = import_file(Path("a.har"), har(GOOD | content), None, None)
    assert [why in each.why for each in found.skipped] == ([] if why is None else [True])


def test_a_cut_gzip_body_is_imported_and_says_so():
    found = import_file(Path("a.flow"), flow(gzip.compress(BODY)[:-20], b"gzip"), None, None)
    assert found.damage == {"a": "The gzip data is truncated: the recording was cut short."}


def test_a_cut_gzip_file_is_refused_with_that_reason():
    with pytest.raises(SourceError, match="it ends inside a gzip member"):
        import_file(Path("a.yaml.gz"), gzip.compress(cassette({}))[:-5], None, None)


def test_halves_of_a_character_in_two_chunks_are_joined():
    stream = BODY.decode() + ": \U0001f600\n\n"
    place = stream.index("\U0001f600")
    pieces = [stream[:place] + "\ud83d", "\ude00" + stream[place + 1 :]]
    data = "".join(json.dumps(piece) + "\n" for piece in pieces).encode()
    (made,) = import_file(Path("a.jsonl"), data, None, None).cassettes
    assert made.body == stream.encode()


def test_half_a_character_in_chunks_is_refused():
    data = json.dumps(BODY.decode() + "\ud83d").encode() + b"\n"
    (skipped,) = import_file(Path("a.jsonl"), data, None, None).skipped
    assert "half of a surrogate pair" in skipped.why


def test_too_many_values_in_flows_are_refused():
    with pytest.raises(SourceError, match="more than 1000000 values"):
        import_file(Path("a.flow"), b"3600000:" + b"0:~" * 1_200_000 + b"]", None, None)


def test_a_number_of_thousands_of_digits_is_no_number():
    with pytest.raises(SourceError, match="unknown type"):
        import_file(Path("a.flow"), b"6006:6000:" + b"9" * 6000 + b"#]", None, None)


def parsed(response=None):
    """Return a cassette as pydantic-ai's serializer writes it: JSON bodies are parsed."""
    asked = {
        "method": "POST",
        "uri": "https://api.anthropic.com/v1/messages",
        "headers": {},
        "parsed_body": REQUEST,
    }
    answered = {"status": {"code": 200}, "headers": {"content-type": ["text/event-stream"]}}
    answered |= response or {"body": {"string": BODY.decode()}}
    return yaml.dump({"version": 1, "interactions": [{"request": asked, "response": answered}]}).encode()


def test_the_requests_that_pydantic_ai_parses_are_read():
    (made,) = import_file(Path("a.yaml"), parsed(), None, None).cassettes
    assert (made.body, made.request.body) == (BODY, REQUEST)


def test_an_answer_that_pydantic_ai_parsed_says_that_it_was_written_again():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    data = parsed({"status": {"code": 529}, "headers": {}, "parsed_body": error})
    (made,) = import_file(Path("a.yaml"), data, None, None).cassettes
    assert json.loads(made.body) == error
    assert "parsed the JSON of the answer and wrote it again" in made.provenance.recipe


RECORDERS = {
    "cassetter": (
        "a.yaml",
        cassette({"request": {"body": {"type": "json", "content": {}}}, "response": {"status": 200}}),
    ),
    "the Ruby gem vcr, or betamax": ("a.yaml", b"http_interactions: []\nrecorded_with: VCR 6.0\n"),
    "WireMock": ("a.yaml", b"mappings: []\n"),
    "aimock": ("a.yaml", b"fixtures: []\n"),
}


@pytest.mark.parametrize("name", RECORDERS)
def test_a_file_of_another_recorder_is_refused_by_the_recorder_s_name(name):
    file, data = RECORDERS[name]
    try:
        (skipped,) = import_file(Path(file), data, None, None).skipped
        why = skipped.why
    except SourceError as error:
        why = str(error)
    assert f"it looks like a file of {name}, which cannot be imported" in why


def litellm(**response):
    pieces = [BODY[:100], BODY[100:130], BODY[130:]]
    request = {
        "method": "POST",
        "path": "/anthropic/v1/messages",
        "headers": {},
        "params": {},
        "body": REQUEST,
    }
    answer = {
        "kind": "streamed",
        "status_code": 200,
        "headers": {"content-type": "text/event-stream"},
        "chunks_b64": [base64.b64encode(piece).decode() for piece in pieces],
        "truncated": None,
    }
    return json.dumps({"request": request, "response": answer | response}).encode()


def test_the_chunks_that_litellm_recorded_are_kept():
    (made,) = import_file(Path("0003-post-messages.json"), litellm(), None, None).cassettes
    assert (made.api, made.body, made.request.body) == ("anthropic-messages", BODY, REQUEST)
    assert [mark.offset for mark in made.marks] == [0, 100, 130]
    assert made.provenance.recipe == RECIPE


def test_a_stream_that_litellm_recorded_as_cut_says_so():
    found = import_file(Path("a.json"), litellm(truncated="upstream: peer closed connection"), None, None)
    assert found.damage == {"a": "The recording was cut short: upstream: peer closed connection."}


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ({"chunks_b64": ["@@@"]}, "its body is not base64"),
        ({"chunks_b64": [5]}, "a chunk is a whole number, expected text"),
        ({"chunks_b64": {}}, "`chunks_b64` is a mapping, expected a list"),
        ({"headers": None}, "`headers` is missing"),
    ],
)
def test_a_bad_interaction_of_litellm_is_skipped_with_the_reason(response, why):
    (skipped,) = import_file(Path("a.json"), litellm(**response), None, None).skipped
    assert why in skipped.why


def test_a_flow_of_another_kind_is_skipped():
    found = import_file(Path("a.flow"), flow(BODY) + tnetstring({"type": [b"x"]}), None, None)
    assert [each.why for each in found.skipped] == ["its type is a list, expected text"]
