"""Files that would take too much memory or time to import are refused, with the place and the limit."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from streamconform.errors import SourceError
from streamconform.files import compressed, json_text
from streamconform_capture import importers
from streamconform_capture.importers import import_file, langchain, vcr
from streamconform_capture.importers.coding import DecodedBody, Undecodable, decode_body

from .test_formats import tnetstring

API = "anthropic-messages"


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return {"request": value, "response": {}, "type": "http", "version": 20}


def test_a_file_beyond_the_bound_is_not_parsed(monkeypatch):
    monkeypatch.setattr(importers, "MAX_FILE", 100)
    with pytest.raises(SourceError, match=r"a\.sse: larger than 100 bytes"):
        import_file(Path("a.sse"), b"x" * 101, API, None)


@pytest.mark.parametrize("head", ['{"log": {"entries": [', '{"interactions": [', '{"body_b64": ['])
def test_a_json_file_of_too_many_values_is_not_parsed(monkeypatch, head):
    monkeypatch.setattr(json_text, "MAX_VALUES", 50)
    with pytest.raises(SourceError, match=r"a\.json: more than 50 values"):
        import_file(Path("a.json"), f"{head}{'1, ' * 60}1]".encode(), None, None)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.har", b'{"log":{"entries":[0,0,0,0]}}'),
        ("a.yaml", b"interactions: [0, 0, 0, 0]"),
        ("a.flow", b"10:4:type,0:~}" * 4),
        ("a.httprr", b"httprr trace v1\n" + b"0 0\n" * 4),
    ],
)
def test_a_file_of_too_many_exchanges_is_refused(name, data, monkeypatch):
    monkeypatch.setattr(importers, "MAX_EXCHANGES", 3)
    with pytest.raises(SourceError, match="more than 3 exchanges"):
        import_file(Path(name), data, None, None)


def test_a_vcrpy_cassette_of_too_many_nodes_is_refused(monkeypatch):
    monkeypatch.setattr(vcr, "MAX_EVENTS", 50)
    text = "version: 1\ninteractions: []\nmore: [" + "1, " * 60 + "1]\n"
    with pytest.raises(SourceError, match="more than 50 nodes"):
        import_file(Path("a.yaml"), text.encode(), None, None)


def test_a_cassette_of_langchain_that_grows_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(langchain, "MAX_UNPACKED", 1000)
    with pytest.raises(SourceError, match="larger than 1000 bytes when decompressed"):
        import_file(Path("a.yaml.gz"), gzip.compress(b"x" * 1001), None, None)


def test_a_flow_of_mitmproxy_is_read_up_to_32_levels():
    with pytest.raises(SourceError, match="flow 1 is broken: nested too deeply"):
        import_file(Path("a.flow"), tnetstring(nested(33)), None, None)


def test_a_body_of_many_gzip_members_is_decompressed_whole():
    assert decode_body(gzip.compress(b"ab") * 500, "gzip") == DecodedBody(b"ab" * 500)


def test_a_body_of_too_many_small_gzip_members_is_refused(monkeypatch):
    monkeypatch.setattr(compressed, "MAX_MEMBERS", 3)
    with pytest.raises(Undecodable, match="more than 3 small members"):
        decode_body(gzip.compress(b"ab") * 5, "gzip")
