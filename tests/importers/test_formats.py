"""Formats with several exchanges, in the form written by their tools, and API detection from frames."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest

from streamconform.apis import APIS
from streamconform.errors import SourceError
from streamconform.suite import cassettes
from streamconform_capture.importers import import_file
from streamconform_capture.importers.detect import detect_apis, explain_wrong_api

from ..harness.builders import TEXT_FRAMES, sse_body

BODY = sse_body(TEXT_FRAMES)
ERROR = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
URL = "https://api.anthropic.com/v1/messages"
REQUEST = {"model": "m", "stream": True, "messages": []}
KEY = "sk-ant-0123456789abcdef0123456789abcdef"


def har(content, status=200, url=URL):
    def headers(**named):
        return [{"name": name.replace("_", "-"), "value": value} for name, value in named.items()]

    request = {
        "method": "POST",
        "url": url,
        "headers": headers(X_Api_Key=KEY, Content_Type="application/json"),
        "postData": {"mimeType": "application/json", "text": json.dumps(REQUEST)},
    }
    kept = headers(Content_Type="text/event-stream", Content_Encoding="gzip")
    entry = {"request": request, "response": {"status": status, "headers": kept, "content": content}}
    return json.dumps({"log": {"version": "1.2", "creator": {}, "entries": [entry]}}).encode()


def tnetstring(value):
    match value:
        case None:
            return b"0:~"
        case bool():
            data, kind = str(value).lower().encode(), b"!"
        case int():
            data, kind = str(value).encode(), b"#"
        case float():
            data, kind = repr(value).encode(), b"^"
        case str():
            data, kind = value.encode(), b";"
        case bytes():
            data, kind = value, b","
        case list():
            data, kind = b"".join(map(tnetstring, value)), b"]"
        case dict():
            data = b"".join(tnetstring(key) + tnetstring(item) for key, item in value.items())
            kind = b"}"
    return b"%d:%s%s" % (len(data), data, kind)


def flow(body, coding=None, **changed):
    headers = [[b"content-type", b"text/event-stream"]] + ([[b"content-encoding", coding]] if coding else [])
    request = {
        "method": b"POST",
        "scheme": b"https",
        "host": "api.anthropic.com",
        "port": 443,
        "path": b"/v1/messages",
        "headers": [[b"x-api-key", KEY.encode()]],
        "content": json.dumps(REQUEST).encode(),
    }
    response = {"status_code": 200, "headers": headers, "content": body, "timestamp_end": 1.5}
    return tnetstring(
        {"type": "http", "version": 21, "request": request, "response": response, "marked": False} | changed
    )


def httprr(body, *, chunked, version=b"HTTP/1.1"):
    sent = json.dumps(REQUEST).encode()
    request = b"POST /v1/messages %s\r\nHost: h\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        version,
        KEY.encode(),
        len(sent),
        sent,
    )
    head = b"%s 200 OK\r\nContent-Type: text/event-stream\r\n" % version
    if chunked:
        parts = [body[:100], body[100:]]
        wire = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        response = head + b"Transfer-Encoding: chunked\r\n\r\n" + wire
    else:
        response = head + b"\r\n" + body
    return b"httprr trace v1\n%d %d\n%s%s" % (len(request), len(response), request, response)


FILES = {
    "har as text": ("a.har", har({"text": BODY.decode(), "mimeType": "text/event-stream"})),
    "har in base64": ("a.json", har({"text": base64.b64encode(BODY).decode(), "encoding": "base64"})),
    "mitmproxy": ("a.flow", flow(BODY)),
    "mitmproxy compressed": ("a.mitm", flow(gzip.compress(BODY), b"gzip")),
    "httprr": ("a.httprr", httprr(BODY, chunked=False)),
    "httprr chunked": ("a.httprr", httprr(BODY, chunked=True)),
    "httprr of HTTP/2": ("a.txt", httprr(BODY, chunked=False, version=b"HTTP/2.0")),
}


@pytest.mark.parametrize("name", FILES)
def test_a_stream_is_imported_with_its_request_and_without_its_key(name):
    file, data = FILES[name]
    (made,) = import_file(Path(file), data, None, None).cassettes
    assert made.body == BODY
    assert (made.api, made.status) == ("anthropic-messages", 200)
    assert (made.request.path, made.request.body) == ("/v1/messages", REQUEST)
    assert KEY not in repr(made)


def test_chunks_that_are_kept_as_json_strings_are_joined():
    pieces = [BODY[start : start + 40].decode("latin-1") for start in range(0, len(BODY), 40)]
    text = "".join(json.dumps(piece.encode("latin-1").decode("utf-8", "replace")) + "\n" for piece in pieces)
    (made,) = import_file(Path("a.jsonl"), text.encode(), None, None).cassettes
    assert made.body == "".join(json.loads(line) for line in text.splitlines()).encode()
    assert made.api == "anthropic-messages"


LEFT_OUT = {
    "har without a body": ("a.har", har({"size": 0}), "its response body was not kept"),
    "flow without a response": ("a.flow", flow(BODY, response=None), "it has no response"),
    "flow of another type": ("a.flow", flow(BODY, type="tcp"), "a flow of type tcp"),
    "har of another path": (
        "a.har",
        har({"text": "{}"}, url="https://x.dev/v1/models"),
        "no API uses its path",
    ),
    "har that is none": (
        "a.har",
        b'{"log": {"entries": [{"request": 7}]}}',
        "`request` is a whole number, expected a mapping",
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_no_recording_is_left_out_with_the_reason(name):
    file, data, reason = LEFT_OUT[name]
    found = import_file(Path(file), data, None, None)
    assert found.cassettes == ()
    assert reason in found.skipped[0].why


BROKEN = {
    "har": ("a.har", b'{"log": {"entries": {}}}', "not a HAR: `log.entries` is a mapping, expected a list"),
    "deep har": ("a.har", b'{"log": {"entries": ' + b"[" * 100_000, "not a HAR"),
    "flow that ends": ("a.flow", flow(BODY)[:-9], "flow 1 is broken: the value at byte 0 is longer"),
    "deep flow": ("a.flow", b"999999:" * 100, "flow 1 is broken"),
    "unknown type": ("a.flow", b"4:1:x?}", "unknown type b'?'"),
    "httprr that ends": ("a.httprr", httprr(BODY, chunked=False)[:-9], "exchange 1 is longer than the file"),
    "httprr without lengths": ("a.httprr", b"httprr trace v1\nPOST /", "no lengths at byte 16"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_error_with_its_place(name):
    file, data, message = BROKEN[name]
    with pytest.raises(SourceError) as error:
        import_file(Path(file), data, None, None)
    assert message in str(error.value)


def list_streams():
    folder = Path(__file__).parents[2] / "cassettes"
    for path in sorted(folder.glob("*/*.yaml")):
        cassette = cassettes.load(folder, path.parent.name, path.stem)
        framed = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
        if cassette.status == 200 and framed != "document":
            yield cassette


def test_the_frames_of_a_stream_determine_its_api_and_no_other():
    """Broken streams and those with only errors may not identify the API, but never look like another."""
    unknown = []
    for cassette in list_streams():
        name = f"{cassette.api}/{cassette.name}"
        assert explain_wrong_api(cassette.api, 200, cassette.body) is None, name
        found = detect_apis(200, cassette.body)
        assert found in ((cassette.api,), ()), name
        unknown += () if found else (name,)
    assert len(unknown) < 30, unknown


SIMILAR = {
    "completions of OpenAI": b'data: {"object":"text_completion","choices":[{"text":"Hi"}]}\n\n',
    "generate of Ollama": b'{"model":"m","response":"Hi","done":false}\n{"response":"","done":true}\n',
    "completions of Anthropic": b'event: ping\ndata: {}\n\nevent: completion\ndata: {"completion":"Hi"}\n\n',
}


@pytest.mark.parametrize("name", SIMILAR)
def test_a_stream_of_another_endpoint_is_of_no_api(name):
    assert detect_apis(200, SIMILAR[name]) == ()
