"""Which capabilities the conversations of request cases need."""

from __future__ import annotations

import pytest

from streamconform.judge.judge import explain_unclaimed
from streamconform.judge.needed_claims import list_needed_capabilities
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import CallCase, RoundTripCase

from ..bundled_suite import cases

REQUESTS = [case for case in cases() if isinstance(case, CallCase) and case.kind == "request"]
NEEDS_PROVIDER_TOOLS = {
    "anthropic-messages/requests-blocks/call-before-a-fallback",
    "anthropic-messages/requests-blocks/compaction-goes-back",
    "anthropic-messages/requests-blocks/failed-compaction-goes-back",
    "anthropic-messages/requests-blocks/failed-server-tool",
    "anthropic-messages/requests-blocks/fallback-goes-back",
    "anthropic-messages/requests-blocks/paused-answer-with-thinking",
    "anthropic-messages/requests-history/paused-answer",
    "anthropic-messages/requests-history/server-tool-and-its-result",
    "anthropic-messages/requests-versions/document-of-an-earlier-answer",
    "bedrock-converse/requests-results/server-tool-and-its-result",
    "bedrock-invoke/requests-history/server-tool-and-its-result",
    "google-generate/requests-history/server-tool",
    "google-generate/requests-history/server-tool-of-another-api",
    "google-generate/requests-history/signed-picture",
    "google-generate/requests-history/signed-tool-response",
    "google-generate/requests-signatures/code-and-its-result",
    "google-interactions/requests-history/file-search",
    "google-interactions/requests-history/search",
    "google-interactions/requests-history/signed-search",
    "openai-chat/requests-history/tool-of-the-provider",
    "openai-chat/requests-vendors/reasoning-details-back-to-openrouter",
    "openai-responses/requests-history/compaction-goes-back",
}


def list_skipped(capability):
    """Return the request cases that are skipped for a client that claims everything but `capability`."""
    reasons = {case.id: explain_unclaimed(case, CAPABILITIES - {capability}) for case in REQUESTS}
    assert set(reasons.values()) <= {None, f"{capability} is not claimed"}
    return {id_ for id_, reason in reasons.items() if reason is not None}


def test_a_client_without_provider_tools_skips_exactly_the_cases_with_the_providers_blocks():
    assert list_skipped("provider_tools") == NEEDS_PROVIDER_TOOLS


@pytest.mark.parametrize(("capability", "apis"), [("thinking", 9), ("signatures", 8)])
def test_thinking_and_signatures_gate_cases_of_most_apis(capability, apis):
    skipped = list_skipped(capability)
    assert len({id_.partition("/")[0] for id_ in skipped}) == apis
    assert len(skipped) < len(REQUESTS) / 4


@pytest.mark.parametrize(
    ("capability", "apis"), [("attachments", 8), ("system_messages", 6), ("custom_tools", 2), ("stateful", 2)]
)
def test_files_instructions_and_stored_answers_gate_cases_of_the_apis_that_have_them(capability, apis):
    skipped = list_skipped(capability)
    assert len({id_.partition("/")[0] for id_ in skipped}) == apis
    assert len(skipped) < len(REQUESTS) / 10


def test_a_client_that_claims_nothing_optional_still_has_most_request_cases():
    left = [case for case in REQUESTS if explain_unclaimed(case, frozenset({"requests"})) is None]
    assert left == [case for case in REQUESTS if not list_needed_capabilities(case.input)]
    assert len(left) > len(REQUESTS) / 2


def test_round_trips_are_not_gated_by_what_the_provider_sent():
    claims = frozenset({"requests", "tool_calls", "parallel_tool_calls"})
    round_trips = [case for case in cases() if isinstance(case, RoundTripCase)]
    assert round_trips
    assert {explain_unclaimed(case, claims) for case in round_trips} == {None}
