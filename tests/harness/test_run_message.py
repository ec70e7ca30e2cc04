"""The request to read a stream: what it tells a program, and what it must not reveal."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from streamconform.adapters import protocol
from streamconform.model.trial import Delivered
from streamconform.schemas import find_problems

from .builders import case, cassette, trial

CHUNKS = [
    (),
    (b"",),
    (b"x",),
    (b"\x00", b"\xff", b'"', b"\\", b"\n"),
    (b"data: {}\n\n", b"d", "é".encode()[:1], "é".encode()[1:]),
    tuple(bytes((i,)) for i in range(256)),
]


@pytest.mark.parametrize("chunks", CHUNKS, ids=len)
def test_a_program_gets_the_chunks_as_they_are_cut(chunks):
    line = protocol.encode_run("7", replace(trial(), plan=Delivered(chunks)), events=True)
    message = json.loads(line)
    assert [base64.b64decode(chunk, validate=True) for chunk in message["input"]["chunks"]] == list(chunks)
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert find_problems("protocol.v1", message, "run") == ()


def test_text_in_a_request_is_not_mistaken_for_the_chunks():
    hostile = {"model": "m", "input": {"chunks": []}, "text": ']}}\n"chunks":[]'}
    of = replace(case(), cassette=cassette(request=hostile))
    message = json.loads(protocol.encode_run("1", trial(of, chunks=(b"a",)), events=False))
    assert message["request"] == hostile
    assert message["input"]["chunks"] == ["YQ=="]
    assert message["want"] == ["outcome"]
