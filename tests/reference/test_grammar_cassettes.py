"""The bundled cassettes are legal, except for those that show illegal streams."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from streamconform.model.cassette import Recorded
from streamconform_reference.apis.grammars import GRAMMARS

from ..bundled_suite import streams

ROOT = Path(__file__).parents[2]
BROKEN_TOPICS = frozenset(["dialects", "errors", "framing", "ids", "resilience", "tolerance", "truncation"])
"""Topics about broken streams, or streams that only lenient parsers can read."""

# Cassettes of other topics that show streams from servers other than the provider's own.
LENIENT: Mapping[str, str] = {
    "anthropic-messages": """
        block-before-message-start block-stopped-twice call-cut-without-block-stop
        call-without-block-stop delta-behind-its-block delta-without-start
        end-turn-behind-an-empty-text end-turn-with-client-call fragment-behind-its-block
        id-shared-by-two-calls
        index-gap index-starts-at-one interleaved-fragments signature-null-between
        stop-of-no-block thinking-delta-in-a-text-block two-blocks-at-one-index
        usage-absent-everywhere usage-delta-absent usage-delta-null usage-start-absent
        """,
    "bedrock-converse": """
        block-stopped-twice call-without-block-stop cut-by-max-tokens-without-block-stop
        fragment-behind-its-block
        id-shared-by-two-calls indices-with-gaps interleaved-calls
        metadata-before-message-stop reasoning-without-block-stop
        second-metadata-wins second-metadata-without-usage text-without-block-stop
        tool-at-the-index-of-text
        """,
    "bedrock-invoke": """
        arguments-that-do-not-parse block-stopped-twice call-without-block-stop
        end-turn-with-call fragment-behind-its-block id-shared-by-two-calls
        indices-with-gaps interleaved-calls
        message-stop-without-reason metrics-alone no-counts-at-all stop-of-no-block
        two-blocks-at-one-index
        """,
    "cohere-chat": """
        arguments-null-in-start call-without-end calls-at-one-index calls-without-id calls-without-index
        end-events-twice finish-reason-missing id-shared-by-two-calls interleaved-calls
        thinking-and-text-at-one-index
        tool-call-reason-without-calls usage-missing usage-nulls usage-of-the-output usage-only-tokens
        v1-call-parameters-null v1-cut-after-parameters-that-parse v1-cut-in-a-call v1-cut-in-text
        v1-cut-inside-stream-end v1-invalid-line v1-token-count v1-without-is-finished
        """,
    "google-generate": """
        no-arguments-null null-and-zero-counts pieces-without-a-call stop-before-the-text
        stop-between-two-runs-of-code stop-on-every-chunk streamed-cut
        """,
    "google-interactions": """
        call-without-stop end-events-twice id-shared-by-two-calls interleaved-calls unknown-status
        """,
    "ollama-chat": """
        arguments-as-broken-text arguments-as-empty-text arguments-as-json-text arguments-escaped-twice
        arguments-missing arguments-null counts-null empty-done-reason empty-ids empty-ids-over-records
        null-done-reason
        """,
    "openai-chat": """
        arguments-absent-then-id-null arguments-as-empty-object arguments-as-object
        arguments-null-only arguments-null-then-fragments bare-fragments-of-both-calls
        call-in-the-finish-chunk
        citations-on-every-chunk custom-call custom-call-beside-a-function-call
        content-filter-on-azure cost-reasoning-outside databricks-reasoning-parts
        empty-contents-beside-a-call end-turn-from-a-gateway finish-end
        finish-error finish-guardrail finish-insufficient-resource finish-model-length
        finish-network-error finish-reason-absent-until-the-end finish-reason-empty
        finish-reason-empty-after-stop finish-reason-in-capitals finish-reason-max-tokens-in-capitals
        finish-reason-on-reasoning-chunks finish-sensitive
        finish-tool-call-singular finish-unknown id-absent id-always-empty id-before-name
        id-empty-on-later-fragments id-inside-function id-new-on-every-fragment
        id-null-on-the-second-call id-numeric
        id-shared-by-two-calls index-gaps index-missing-in-fragments index-missing-whole-calls
        index-reused-by-a-new-id index-reused-in-fragments index-starts-at-one intermediate-finish
        length-in-a-custom-call
        mistral-both-parts-in-one-delta mistral-content-array name-after-first-arguments
        name-and-id-null-on-later-fragments name-empty-on-later-fragments
        null-id-and-name-on-later-fragments
        one-id-under-several-indexes reasoning-only stop-inside-calls stop-on-every-chunk
        tool-calls-without-a-call
        type-null usage-after-done usage-empty-object usage-fields-in-two-reports
        usage-before-the-answer-and-behind-it usage-reasoning-outside usage-then-null
        """,
    "openai-responses": """
        arguments-begin-in-item-added arguments-in-item-added arguments-only-in-arguments-done
        arguments-only-in-item-done cancelled completed-output-empty completed-without-output
        custom-call-without-deltas
        deltas-without-done-events half-a-character-per-delta no-arguments-done no-item-done-after-call
        only-the-snapshot-call refusal-without-part-events
        only-the-snapshot-text partial-deltas-then-done snapshot-has-one-item-more
        summary-without-part-events text-only-in-text-done usage-null-on-completed
        """,
}


@cache
def broken() -> Mapping[str, frozenset[str]]:
    """Return the names of the cassettes that violate a `must` rule, by API."""
    found: dict[str, set[str]] = {api: set() for api in GRAMMARS}
    for case in streams():
        if case.id.split("/")[1] in BROKEN_TOPICS:
            continue
        cassette = case.cassette
        if (
            cassette.transport != "http"
            or cassette.status >= 400
            or isinstance(cassette.provenance, Recorded)
        ):
            continue
        deviations = GRAMMARS[case.api].of_body([cassette.body], cassette.request.body)
        if any(each.level == "must" for each in deviations):
            found[case.api].add(cassette.name)
    return {api: frozenset(names) for api, names in found.items()}


@pytest.mark.parametrize("api", GRAMMARS)
def test_a_legal_cassette_breaks_no_rule_that_must_hold(api):
    assert broken()[api] - {*LENIENT.get(api, "").split()} == set()


@pytest.mark.parametrize("api", GRAMMARS)
def test_every_cassette_that_is_listed_breaks_one(api):
    assert {*LENIENT.get(api, "").split()} - broken()[api] == set()
