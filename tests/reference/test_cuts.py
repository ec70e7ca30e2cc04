"""The answer of every API does not depend on how the network cuts the bytes."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import Answer, assert_event_rules, decode, joined_deltas

from ..for_each import for_each
from .samples import SAMPLES

STREAMS = {(api, name): body for api, table in SAMPLES.items() for name, body in table.items()}
EVERY_CUT = 400
"""The maximum size of a body that is cut once at every place.

A decoder gets complete frames, so cuts affect only the framings, whose tests cut small bodies everywhere.
Longer bodies are cut at random places here.
"""


@cache
def uncut(api: str, name: str) -> Answer:
    return decode(STREAMS[api, name], api=api)


def cut(body: bytes) -> list[list[bytes]]:
    few = len(body) <= EVERY_CUT
    return [
        chunkings.bytewise(body),
        *(chunkings.at_random(body, seed) for seed in range(5)),
        *(chunkings.two_way_cuts(body) if few else chunkings.some_two_way_cuts(body, 40)),
    ]


@for_each(("api", "name"), STREAMS)
def test_the_answer_does_not_depend_on_the_cuts(api: str, name: str) -> None:
    expected = uncut(api, name)
    assert_event_rules(expected)
    for chunks in cut(STREAMS[api, name]):
        answer = decode(chunks, api=api)
        assert answer.outcome == expected.outcome
        assert joined_deltas(answer.events) == joined_deltas(expected.events)


@given(key=st.sampled_from(sorted(STREAMS)), cuts=st.lists(st.integers(0, 4000), max_size=12))
def test_the_answer_is_the_same_for_any_cuts(key: tuple[str, str], cuts: list[int]) -> None:
    answer = decode(chunkings.at(STREAMS[key], cuts), api=key[0])
    assert answer.outcome == uncut(*key).outcome
    assert joined_deltas(answer.events) == joined_deltas(uncut(*key).events)
    assert_event_rules(answer)


@given(
    name=st.sampled_from(sorted(SAMPLES["anthropic-messages"])),
    cuts=st.lists(st.integers(0, 2500), max_size=8),
)
def test_cuts_change_no_event_of_anthropic_messages(name: str, cuts: list[int]) -> None:
    answer = decode(chunkings.at(SAMPLES["anthropic-messages"][name], cuts))
    assert answer.events == uncut("anthropic-messages", name).events
