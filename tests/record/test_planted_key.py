"""A key that is planted in any form leaves no trace, whichever command processes it.

Either the key is replaced, or everything is refused; in both cases, no file, file name or output contains it.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import gzip
import io
import json
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

import streamconform.cli
from streamconform_capture.minimise.write import format_command, write_result
from streamconform_capture.record.errors import SecretsLeft

from ..importers.test_formats import tnetstring
from ..minimise.searching import run_search
from .planted import FORMS, KEY, Exchange, Form, exchange_of, iter_traces
from .server import document, replying, stream
from .test_listen import listening

TRACES = iter_traces(KEY)
API = ("--api", "anthropic-messages")
SEARCHED = "anthropic-messages/tool-use/no-arguments-empty-delta"


def run(*words: str) -> tuple[int, str, str]:
    """Run `conform WORDS` in this process and folder, and return the result."""
    out, err = io.StringIO(), io.StringIO()
    argv, sys.argv = sys.argv, ["conform", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            streamconform.cli.main()
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = argv
    raise AssertionError("a command exits")


def find_traces(folder: Path, *printed: str) -> list[tuple[str, bytes]]:
    """Return where the key or a part of it occurs in output, files and file names."""
    places = {f"printed {number}": text.encode() for number, text in enumerate(printed)}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent != folder:  # the captures themselves are in the folder
            places[str(path.relative_to(folder))] = str(path).encode() + path.read_bytes()
    return [(place, trace) for place, data in places.items() for trace in TRACES if trace in data.lower()]


def record(
    exchange: Exchange, folder: Path, env: pytest.MonkeyPatch, key: str = KEY, *more: str
) -> tuple[int, str, str]:
    env.setenv("ANTHROPIC_API_KEY", key)
    (folder / "request.json").write_text(json.dumps(exchange.request), "utf-8")
    headers = "".join(f"{name}: {value}\r\n" for name, value in exchange.headers.items()).encode()
    reply = (
        stream(exchange.body, size=exchange.chunk, headers=headers)
        if exchange.status == 200
        else document(b"%d Error" % exchange.status, exchange.body)
    )
    with replying(lambda _: reply) as server:
        url = f"{server.base_url}/{exchange.query.removeprefix('?key=')}"
        words = ("--base-url", url, "--request", "request.json", "--name", "planted", *more)
        return run("record", *API, *words)


def in_vcr(exchange: Exchange) -> dict[str, object]:
    """Return the two halves of an interaction, in vcrpy's form."""
    request = {
        "method": "POST",
        "uri": f"https://api.anthropic.com/v1/messages{exchange.query}",
        "headers": {name: [value] for name, value in exchange.request_headers.items()},
        "body": json.dumps(exchange.request),
    }
    headers = {"content-type": "text/event-stream", **exchange.headers}
    response = {
        "status": {"code": exchange.status, "message": "OK"},
        "headers": {name: [value] for name, value in headers.items()},
        "body": {"string": exchange.body},
    }
    return {"request": request, "response": response}


def import_vcr(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    text = yaml.dump({"version": 1, "interactions": [in_vcr(exchange)]})
    (folder / "planted.yaml").write_text(text, "utf-8")
    return run("import", "planted.yaml")


def import_vcr_json(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    interaction = in_vcr(exchange)
    interaction["response"]["body"] = {"string": exchange.body.decode("utf-8", "replace")}  # type: ignore[index]
    (folder / "planted.json").write_text(json.dumps({"version": 1, "interactions": [interaction]}), "utf-8")
    return run("import", "planted.json")


def import_langchain(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    interaction = in_vcr(exchange)
    text = yaml.dump({"requests": [interaction["request"]], "responses": [interaction["response"]]})
    (folder / "planted.yaml.gz").write_bytes(gzip.compress(text.encode()))
    return run("import", "planted.yaml.gz")


def import_body(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    (folder / "planted.sse").write_bytes(exchange.body)
    return run("import", "planted.sse", *API)


def import_body_with_head(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    head = f"HTTP/1.1 {exchange.status} OK\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in exchange.headers.items())
    (folder / "planted.txt").write_bytes(head.encode() + b"\r\n" + exchange.body)
    return run("import", "planted.txt", *API)


def import_payloads(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    lines = [line[6:] for line in exchange.body.split(b"\n") if line.startswith(b"data: ")]
    (folder / "planted.jsonl").write_bytes(b"\n".join(lines or [exchange.body]) + b"\n")
    return run("import", "planted.jsonl", *API)


def import_har(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    def pairs(headers: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in headers.items()]

    request = {
        "method": "POST",
        "url": f"https://api.anthropic.com/v1/messages{exchange.query}",
        "headers": pairs(exchange.request_headers),
        "postData": {"mimeType": "application/json", "text": json.dumps(exchange.request)},
    }
    content = {"text": base64.b64encode(exchange.body).decode(), "encoding": "base64"}
    response = {"status": exchange.status, "headers": pairs(exchange.headers), "content": content}
    log = {"version": "1.2", "creator": {}, "entries": [{"request": request, "response": response}]}
    (folder / "planted.har").write_text(json.dumps({"log": log}), "utf-8")
    return run("import", "planted.har")


def import_flows(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    def pairs(headers: dict[str, str]) -> list[list[bytes]]:
        return [[name.encode(), value.encode()] for name, value in headers.items()]

    request = {
        "method": b"POST",
        "scheme": b"https",
        "host": "api.anthropic.com",
        "port": 443,
        "path": f"/v1/messages{exchange.query}".encode(),
        "headers": pairs(exchange.request_headers),
        "content": json.dumps(exchange.request).encode(),
    }
    response = {
        "status_code": exchange.status,
        "headers": pairs({"content-type": "text/event-stream", **exchange.headers}),
        "content": exchange.body,
    }
    data = tnetstring({"type": "http", "version": 21, "request": request, "response": response})
    (folder / "planted.flow").write_bytes(data)
    return run("import", "planted.flow")


def import_httprr(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    def head(first: str, headers: dict[str, str]) -> bytes:
        return "\r\n".join([first, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()

    sent = json.dumps(exchange.request).encode()
    request = head(
        f"POST /v1/messages{exchange.query} HTTP/1.1",
        {"Host": "h", "Content-Length": str(len(sent)), **exchange.request_headers},
    )
    response = head(f"HTTP/1.1 {exchange.status} OK", exchange.headers) + exchange.body
    lengths = f"{len(request + sent)} {len(response)}\n"
    (folder / "planted.httprr").write_bytes(
        b"httprr trace v1\n" + lengths.encode() + request + sent + response
    )
    return run("import", "planted.httprr")


def import_strings(exchange: Exchange, folder: Path) -> tuple[int, str, str]:
    text = exchange.body.decode("utf-8", "replace")
    lines = [json.dumps(text[at : at + 37]) for at in range(0, len(text), 37)]
    (folder / "planted.jsonl").write_text("\n".join(lines), "utf-8")
    return run("import", "planted.jsonl", *API)


IMPORTERS = (
    import_vcr,
    import_vcr_json,
    import_langchain,
    import_body,
    import_body_with_head,
    import_payloads,
    import_har,
    import_flows,
    import_httprr,
    import_strings,
)


@cache
def searched():
    """Return a finished search, whose result each test replaces."""
    return run_search(SEARCHED, "mutant:empty-arguments-dropped")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(parameters: tuple[Form, ...]) -> dict[str, object]:
    return {"argvalues": parameters, "ids": [form.name for form in parameters]}


def test_there_are_25_forms_and_each_says_why():
    assert len({form.name for form in FORMS}) == len(FORMS) >= 25
    assert all(form.why for form in FORMS)


def test_these_tests_would_find_a_key(folder, monkeypatch):
    exchange = exchange_of(f"It is {KEY}.")
    code, *_ = import_body(exchange, folder)
    assert code == 2
    (folder / "specs").mkdir()
    (folder / "specs" / "x.yaml").write_bytes(exchange.body)
    assert find_traces(folder)
    assert find_traces(folder / "no", KEY)
    for form in FORMS:  # the planted text is one of the traces, unless it is in pieces or compressed
        assert form.plant(KEY) != form.plant("other"), form.name
    assert record(exchange_of("Hi"), folder, monkeypatch)[0] == 0  # the server and the options are right


@pytest.mark.parametrize("form", **named(FORMS))
def test_record_leaves_no_trace(form, folder, monkeypatch):
    code, *printed = record(form.plant(KEY), folder, monkeypatch, KEY, "--allow-error")
    assert code in (0, 2)
    assert find_traces(folder, *printed) == []
    assert "Traceback" not in printed[1]


@pytest.mark.parametrize("form", **named(tuple(form for form in FORMS if form.name != "query")))
def test_record_leaves_no_trace_of_a_key_that_is_not_the_one_it_sends(form, folder, monkeypatch):
    _, *printed = record(form.plant(KEY), folder, monkeypatch, "another-key-1234567890")
    assert find_traces(folder, *printed) == []


def make_reply(exchange: Exchange):
    headers = "".join(f"{name}: {value}\r\n" for name, value in exchange.headers.items()).encode()
    if exchange.status == 200:
        return lambda _: stream(exchange.body, size=exchange.chunk, headers=headers)
    return lambda _: document(b"%d Error" % exchange.status, exchange.body)


@pytest.mark.parametrize("key", [KEY, "another-key-1234567890"])
def test_the_recorder_in_front_of_a_client_leaves_no_trace(key, tmp_path):
    planted = [form.plant(KEY) for form in FORMS]
    folder = tmp_path / "project"
    folder.mkdir()
    with (
        replying(*map(make_reply, planted)) as server,
        listening(folder, server.base_url) as proxy,
    ):
        for exchange in planted:
            headers = {"x-api-key": key, **exchange.request_headers}
            proxy.post(exchange.request, f"/v1/messages{exchange.query}", **headers)
        assert len(server.requests) == len(planted)
        code, err = proxy.stop()
    assert find_traces(tmp_path, err) == []
    assert code == 2
    assert "not saved" in err
    assert [*folder.rglob("*.yaml")]


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.__name__)
def test_an_importer_reads_an_exchange_without_a_key(importer, folder):
    code, _, err = importer(exchange_of("Hi"), folder)
    assert code == 0, err


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.__name__)
@pytest.mark.parametrize("form", **named(FORMS))
def test_an_importer_leaves_no_trace(form, importer, folder):
    code, *printed = importer(form.plant(KEY), folder)
    assert code in (0, 2)
    assert find_traces(folder, *printed) == []
    assert "Traceback" not in printed[1]


@pytest.mark.parametrize("form", **named(tuple(form for form in FORMS if form.in_body)))
def test_minimise_leaves_no_trace(form, folder):
    search = searched()
    trial = search.best.trial
    exchange = form.plant(KEY)
    cassette = dataclasses.replace(trial.case.cassette, body=exchange.body, status=exchange.status)
    case = dataclasses.replace(trial.case, cassette=cassette)
    planted = dataclasses.replace(search.best, trial=dataclasses.replace(trial, case=case))
    printed = ""
    try:
        write_result(folder / "out", search, planted, format_command(search, ""))
    except SecretsLeft as error:
        printed = str(error)
    assert find_traces(folder, printed) == []
    assert printed
