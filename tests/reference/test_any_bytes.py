"""For every API: no bytes raise, every answer ends once, and chunks do not change the result."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import assert_event_rules, decode
from streamconform_reference.json_text.codec import dumps

from .samples import SAMPLES


@pytest.mark.parametrize("api", SAMPLES)
@settings(max_examples=50)
@given(body=st.binary(max_size=120), status=st.sampled_from([200, 204, 400, 500]))
def test_any_bytes(api: str, body: bytes, status: int) -> None:
    answer = decode(body, api=api, status=status)
    assert_event_rules(answer)
    assert decode(chunkings.bytewise(body), api=api, status=status).outcome == answer.outcome
    dumps(answer.outcome)


@pytest.mark.parametrize("api", SAMPLES)
@settings(max_examples=50)
@given(drawn=st.data(), position=st.integers(0, 3000), damage=st.binary(min_size=1, max_size=4))
def test_any_damage_to_a_good_stream(api: str, drawn: st.DataObject, position: int, damage: bytes) -> None:
    body = SAMPLES[api][drawn.draw(st.sampled_from(sorted(SAMPLES[api])))]
    damaged = body[:position] + damage + body[position + len(damage) :]
    answer = decode(damaged, api=api)
    assert_event_rules(answer)
    assert decode(chunkings.bytewise(damaged), api=api).outcome == answer.outcome
    dumps(answer.outcome)
