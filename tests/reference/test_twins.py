"""The non-streaming answer to the same request has the same outcome as the stream."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from streamconform.model.cassette import Cassette
from streamconform_reference import adapter, decode_document

from ..bundled_suite import cassettes


def twins() -> list[Cassette]:
    return [each for each in cassettes() if each.twin is not None]


def shared_parts(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return the parts that two answers to the same request share: all except generated values.

    Blocks are sorted by type, because this server orders text and thinking differently in each form.
    """
    blocks = [
        {name: value for name, value in block.items() if name not in ("id", "arguments_text", "signature")}
        for block in outcome["content"]
        if block["type"] == "tool_call" or block.get("text")
    ]
    return {
        "status": outcome["status"],
        "stop": outcome["stop"],
        "content": sorted(blocks, key=lambda block: block["type"]),
        "usage": outcome["usage"],
        "error": outcome["error"],
        "model": outcome["model"],
    }


def test_there_are_twins() -> None:
    assert len(twins()) >= 15


def test_the_answer_in_one_piece_gives_the_outcome_of_the_stream() -> None:
    pairs = {f"{each.api}/{each.name}": outcomes(each) for each in twins()}
    assert {name: pair for name, pair in pairs.items() if pair[0] != pair[1]} == {}


def outcomes(cassette: Cassette) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shared parts of the document and of the stream, each of which is read separately."""
    run = SimpleNamespace(
        api=cassette.api,
        status=cassette.status,
        headers=cassette.headers,
        chunks=[cassette.body],
        request=None,
        model=None,
        pricing=None,
    )
    *_, last = adapter(run)
    assert cassette.twin is not None
    whole = decode_document(cassette.twin, cassette.api).to_json()
    return shared_parts(whole), shared_parts(last["outcome"])
