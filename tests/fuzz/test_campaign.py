"""The first streams of the fuzz campaign; see `campaign` for millions of them."""

from __future__ import annotations

import pytest

from streamconform.apis import NAMES
from streamconform_dev.fuzz import campaign
from streamconform_reference import DECODERS

STREAMS_PER_API = 30


@pytest.fixture(autouse=True)
def bundled_streams_only(monkeypatch):
    """Without recordings of others, so that a seed means the same stream everywhere."""
    monkeypatch.delenv("STREAMCONFORM_CORPUS", raising=False)
    campaign.material.cache_clear()
    yield
    campaign.material.cache_clear()


@pytest.mark.parametrize("api", NAMES)
def test_damaged_streams_neither_raise_nor_depend_on_the_cuts(api):
    for seed in range(STREAMS_PER_API):
        campaign.check(api, seed)


def test_a_decoder_that_depends_on_the_cuts_is_a_failure_with_its_seed(monkeypatch):
    class Forgetful(DECODERS["openai-chat"]):
        def receive_data(self, data):
            return super().receive_data(data) if len(data) > 40 else []

    monkeypatch.setitem(DECODERS, "openai-chat", Forgetful)
    number = NAMES.index("openai-chat")
    tally = campaign.run(range(number, number + 10 * len(NAMES), len(NAMES)))
    assert any(
        failure.startswith(f"seed {number}, openai-chat: AssertionError: the outcome depends on the cuts")
        for failure in tally.failures
    )
    assert tally.executions.total() < 10 * (1 + campaign.CUTS)
