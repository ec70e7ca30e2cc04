"""For every API: no bytes raise, every answer ends once, and chunks do not change the result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import assert_event_rules, decode
from streamconform_reference import DECODERS
from streamconform_reference.json_text.codec import dumps

from ..for_each import for_each
from .payloads import BODIES
from .samples import SAMPLES
from .streams import STREAMS, sse


def assert_readable(api: str, body: bytes, status: int = 200) -> None:
    """Assert that the body is read, the same byte by byte, and that the answer can be written."""
    answer = decode(body, api=api, status=status)
    assert_event_rules(answer)
    assert decode(chunkings.bytewise(body), api=api, status=status).outcome == answer.outcome
    dumps(answer.outcome)


@pytest.mark.parametrize("api", SAMPLES)
@given(body=st.binary(max_size=120), status=st.sampled_from([200, 204, 400, 500]))
def test_any_bytes(api: str, body: bytes, status: int) -> None:
    assert_readable(api, body, status)


@pytest.mark.parametrize("form", BODIES)
@given(drawn=st.data())
def test_any_payloads(form: str, drawn: st.DataObject) -> None:
    assert_readable(form.partition(",")[0], drawn.draw(BODIES[form]))


@pytest.mark.parametrize("api", SAMPLES)
@given(drawn=st.data(), position=st.integers(0, 3000), damage=st.binary(min_size=1, max_size=4))
def test_any_damage_to_a_good_stream(api: str, drawn: st.DataObject, position: int, damage: bytes) -> None:
    body = SAMPLES[api][drawn.draw(st.sampled_from(sorted(SAMPLES[api])))]
    assert_readable(api, body[:position] + damage + body[position + len(damage) :])


ENDS = {
    "anthropic-messages": (b'"message_stop"}',),
    "bedrock-converse": (b"messageStop",),
    "bedrock-invoke": (),  # its events are base64
    "cohere-chat": (b'"message-end"', b'"stream-end"'),
    "google-generate": (b'"finishReason"', b'"blockReason"'),
    "google-interactions": (b'"interaction.completed"',),
    "ollama-chat": (b'"done": true',),
    "openai-chat": (b'"finish_reason": "',),
    "openai-responses": (b'"response.completed"', b'"response.incomplete"'),
}
"""Maps an API to the text that only an event that ends an answer has."""


@for_each(("api", "name"), [(api, name) for api in SAMPLES for name in sorted(SAMPLES[api])])
def test_a_stream_cut_before_its_end_has_the_start_of_the_answer_and_is_not_complete(
    api: str, name: str
) -> None:
    body = SAMPLES[api][name]
    whole = decode(body, api=api).content
    ends = [place for mark in ENDS[api] if (place := body.find(mark)) > 0]
    for cut in range(0, min(ends, default=len(body)), 7):
        answer = decode(body[:cut], api=api)
        assert_event_rules(answer)
        assert answer.outcome["status"] != "complete"
        assert answer.outcome["stop"]["reason"] in (None, "error")
        for part, final in zip(answer.content, whole, strict=False):
            assert part["type"] == final["type"]
            assert final.get("text", "").startswith(part.get("text", ""))
            assert not part.get("complete") or part == final


def test_nesting_beyond_the_bound_is_broken_not_fatal() -> None:
    for depth in (200, 2_000, 200_000):
        body = sse({"type": "ping"}) + b'data: {"type":"ping","x":' + b"[" * depth + b"]" * depth
        assert decode(body + b"}\n\n").outcome["error"]["type"] == "protocol"


def test_no_event_follows_the_end() -> None:
    decoder = DECODERS["anthropic-messages"]()
    assert decoder.receive_eof() != []
    assert decoder.receive_data(STREAMS["text"]) == []
    assert decoder.receive_eof() == []
    assert decoder.outcome.status == "error"
