"""Bodies of server-sent events, and the events with data that the standard finds in them."""

from __future__ import annotations

import pytest

# id, body, events as (name, data)
_ROWS = [
    ("nothing", b"", []),
    ("blank-lines", b"\n\r\n\r", []),
    ("one", b"data: a\n\n", [(None, b"a")]),
    ("many-blank-lines", b"\n\n\ndata: a\n\n\n\n", [(None, b"a")]),
    ("lf", b"event: x\ndata: a\n\ndata: b\n\n", [("x", b"a"), (None, b"b")]),
    ("crlf", b"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", [("x", b"a"), (None, b"b")]),
    ("cr", b"event: x\rdata: a\r\rdata: b\r\r", [("x", b"a"), (None, b"b")]),
    ("mixed", b"data: a\r\n\ndata: b\r\r\ndata: c\n\r", [(None, b"a"), (None, b"b"), (None, b"c")]),
    ("crlf-is-one-end", b"data: a\r\ndata: b\r\n\r\n", [(None, b"a\nb")]),
    ("bom", b"\xef\xbb\xbfdata: a\n\n", [(None, b"a")]),
    ("bom-inside", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [(None, b"a")]),
    ("comment", b": hi\n\n:\ndata: a\n:x\ndata: b\n\n", [(None, b"a\nb")]),
    ("comment-between-events", b": hi\n\n:\n\ndata: a\n: in between\ndata: b\n\n", [(None, b"a\nb")]),
    ("comment-after-id", b"id: 1\ndata: a\n\n: ping\n\n", [(None, b"a")]),
    ("unknown-fields", b"id: 1\nretry: 5\nfoo: bar\nbaz\n data: x\ndata: a\n\n", [(None, b"a")]),
    ("no-space", b"data:a\n\n", [(None, b"a")]),
    ("two-spaces", b"data:  a\n\n", [(None, b" a")]),
    ("tab", b"data:\ta\n\n", [(None, b"\ta")]),
    ("two-lines", b"data: a\ndata: b\n\n", [(None, b"a\nb")]),
    ("lines", b"data: a\ndata\ndata: b\n\n", [(None, b"a\n\nb")]),
    ("empty-line-within-data", b"data: a\ndata:\ndata: b\n\n", [(None, b"a\n\nb")]),
    ("data-without-colon", b"data: a\ndata\n\n", [(None, b"a\n")]),
    ("empty-data", b"data\n\ndata:\n\ndata: \n\n", []),
    ("empty-data-before-data", b"data:\n\ndata: \n\ndata\n\ndata: a\n\n", [(None, b"a")]),
    ("two-empty-data", b"data\ndata\n\n", [(None, b"\n")]),
    ("no-data", b"event: x\nid: 1\n\n", []),
    ("name-does-not-last", b"event: x\n\ndata: a\n\n", [(None, b"a")]),
    ("last-name-counts", b"event: x\nevent: y\ndata: a\n\n", [("y", b"a")]),
    ("empty-name", b"event\ndata: a\n\n", [("", b"a")]),
    ("done", b"data: [DONE]", [(None, b"[DONE]")]),
    ("json-without-end", b'data: {"a":1}', [(None, b'{"a":1}')]),
    ("json-without-blank-line", b'data: {"a":1}\r\n', [(None, b'{"a":1}')]),
    ("json-before-half-a-field", b'data: {"a":1}\neve', [(None, b'{"a":1}')]),
    ("cut-json", b'data: a\n\ndata: {"a":', [(None, b"a")]),
    ("cut-text", b"data: hello\n", []),
    ("cut-nan", b"data: NaN\n", []),
    ("cut-utf-16", b"data: 1\x00\n", []),
    ("cut-deep", b"data: " + b"[" * 2_000, []),
    ("unicode-ends", "data: a\u2028b\u2029c\x85d\n\n".encode(), [(None, "a\u2028b\u2029c\x85d".encode())]),
    ("ascii-separators", b"data: a\x0bb\x0cc\x1cd\x1de\x1ef\n\n", [(None, b"a\x0bb\x0cc\x1cd\x1de\x1ef")]),
    ("nul-is-text", b"data: a\x00b\n\n", [(None, b"a\x00b")]),
    ("html", b"<!doctype html>\n<p>data: x</p>\n\n", []),
    ("html-without-end", b"<html>\n\n<body>data: no</body>\n", []),
    ("json-document", b'{"type": "error"}\n\n', []),
]

BODIES = [pytest.param(body, events, id=name) for name, body, events in _ROWS]
