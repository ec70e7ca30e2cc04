"""A decoder takes a small multiple of the memory of a body, even if the body consists of very short lines."""

from __future__ import annotations

import tracemalloc

import pytest

from streamconform_reference import DECODERS

SIZE = 128 * 1024
MAX_PEAK = 14 * SIZE
"""In bytes. A list of all lines, or of all frames, takes 16 to 85 times `SIZE`."""

HOSTILE = {
    "frame-of-empty-lines": ("anthropic-messages", b"", b"data:\n", b"\n"),
    "frame-of-short-lines": ("anthropic-messages", b"", b"data:12\n", b"\n"),
    "short-frames": ("anthropic-messages", b"", b"data:1\n\n", b""),
    "comments": ("anthropic-messages", b"", b":\n", b""),
    "json-lines": ("ollama-chat", b"{}\n", b"1\n", b""),
}


@pytest.mark.parametrize("chunk_size", [4096, 2 * SIZE], ids=["small-chunks", "one-chunk"])
@pytest.mark.parametrize(("api", "start", "line", "end"), HOSTILE.values(), ids=HOSTILE)
def test_a_body_of_very_short_lines_takes_little_memory(api, start, line, end, chunk_size):
    body = start + line * (SIZE // len(line)) + end
    decoder = DECODERS[api]()
    tracemalloc.start()
    try:
        for position in range(0, len(body), chunk_size):
            decoder.receive_data(body[position : position + chunk_size])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MAX_PEAK
