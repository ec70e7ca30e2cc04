"""Content codings are removed based on the bytes, within limits."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest

from streamconform_capture.importers import coding
from streamconform_capture.importers.coding import Undecodable, decode_body

TEXT = "data: Grüß dich\n\n".encode() * 50


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        pytest.param(TEXT, "", id="none"),
        pytest.param(TEXT, "identity", id="identity"),
        pytest.param(gzip.compress(TEXT), "gzip", id="gzip"),
        pytest.param(gzip.compress(TEXT), "x-gzip", id="x-gzip"),
        pytest.param(zlib.compress(TEXT), "deflate", id="deflate"),
        pytest.param(zlib.compress(TEXT)[2:-4], "deflate", id="raw-deflate"),
        pytest.param(brotli.compress(TEXT), "br", id="br"),
        pytest.param(gzip.compress(brotli.compress(TEXT)), "br, gzip", id="two"),
        pytest.param(gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), "GZIP", id="members"),
        pytest.param(TEXT, "gzip", id="gzip-decoded-before"),
        pytest.param(TEXT, "br", id="br-decoded-before"),
        pytest.param(TEXT, "zstd", id="unknown-decoded-before"),
    ],
)
def test_the_text_comes_out(body, encoding):
    assert decode_body(body, encoding) == coding.DecodedBody(TEXT)


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_stream_that_was_cut_gives_what_came_and_says_so(encoding):
    noise = bytes(range(33, 120)) * 40 + TEXT
    whole = gzip.compress(noise, 0) if encoding == "gzip" else brotli.compress(noise, quality=0)
    found = decode_body(whole[:-20], encoding)
    assert noise.startswith(found.body)
    assert found.note == f"The {encoding} data is truncated: the recording was cut short."


def test_what_is_neither_text_nor_in_its_coding_is_reported():
    with pytest.raises(Undecodable, match="neither text nor gzip"):
        decode_body(b"\xff\x00\x01", "gzip")
    with pytest.raises(Undecodable, match="neither text nor zstd: supported codings are gzip"):
        decode_body(b"\x28\xb5\x2f\xfd\xff", "zstd")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate"])
def test_a_bomb_is_refused(monkeypatch, encoding):
    monkeypatch.setattr(coding, "MAX_BODY", 10_000)
    compress = {"gzip": gzip.compress, "br": brotli.compress, "deflate": zlib.compress}[encoding]
    with pytest.raises(Undecodable, match="larger than 10000 bytes"):
        decode_body(compress(bytes(1_000_000)), encoding)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(Undecodable, match="install `brotli`"):
        decode_body(brotli.compress(TEXT) + b"\xff", "br")
