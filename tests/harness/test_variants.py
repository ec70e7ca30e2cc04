"""Variants: the same answer in other frames that servers of an API really send."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from streamconform.apis import APIS
from streamconform.delivery.stream import read_stream
from streamconform.delivery.variants import vary
from streamconform.model.trial import DELIVERIES, DELIVERY_SETS, VARIANTS, Trial
from streamconform.run.vendor import explain_foreign_trial
from streamconform.suite.evidence import read_facts
from streamconform.suite.expand import expand, make_trial
from streamconform.suite.threads import read_threads
from streamconform.wire.framings import split

from .. import bundled_suite
from ..for_each import for_each

ROOT = Path(__file__).parents[2]
OF_APIS = [(api, name) for api in APIS for name in APIS[api].variants]


def find_case(id_):
    return next(case for case in bundled_suite.streams() if case.id == id_)


@cache
def list_varied():
    """Return the streams with each variant, by API and variant."""
    found = defaultdict(list)
    for case in bundled_suite.streams():
        for name in APIS[case.api].variants:
            if vary(read_stream(case), name) is not None:
                found[case.api, name].append(case)
    return found


def test_every_variant_of_an_api_is_a_delivery_that_some_api_has():
    assert {name for _, name in OF_APIS} == set(VARIANTS)
    assert DELIVERY_SETS["variants"] == VARIANTS
    assert set(VARIANTS) < set(DELIVERY_SETS["full"])
    assert not set(VARIANTS) & {*DELIVERY_SETS["fast"], *DELIVERY_SETS["standard"]}


def test_every_variant_of_an_api_names_a_fact_or_a_thread_of_that_api():
    threads = read_threads(bundled_suite.SOURCES.specs)

    def is_shown(api, source):
        thread = threads.get(source)
        if thread is None:
            return source in read_facts(bundled_suite.SOURCES.specs, api)
        return api in thread.apis and bool({"stream", "server"} & set(thread.paths))

    sources = {each: APIS[each[0]].variants[each[1]].sources for each in OF_APIS}
    assert [each for each, names in sources.items() if not names] == []
    assert [
        (api, name, source)
        for (api, name), names in sources.items()
        for source in names
        if not is_shown(api, source)
    ] == []


def test_every_variant_of_an_api_changes_some_stream():
    assert [each for each in OF_APIS if not list_varied()[each]] == []


@for_each("api, name", OF_APIS)
def test_a_variant_is_another_stream_with_the_same_events(api, name):
    for case in bundled_suite.sample(list_varied()[api, name]):
        stream = read_stream(case)
        body = b"".join(vary(stream, name).chunks)
        assert body != stream.body
        frames = split(stream.framing, body)
        assert {frame.event for frame in frames} <= {frame.event for frame in stream.frames}
        assert body[frames[-1].end :] == stream.body[stream.frames[-1].end :]


@pytest.mark.parametrize("name", ["truncation/cut-inside-json", "errors/error-mid-text", "errors/http-500"])
def test_a_broken_answer_and_an_error_have_no_variants(name):
    assert [*expand([find_case(f"openai-chat/{name}")], VARIANTS, "http", 0)] == []


def test_a_document_has_no_variants():
    case = next(case for case in bundled_suite.documents() if case.api == "openai-chat")
    assert [*expand([case], VARIANTS, "http", 0)] == []


def test_the_page_on_specs_lists_the_variants_of_each_api():
    page = (ROOT / "docs/specs.md").read_text("utf-8")
    rows = {}
    for name, does, apis in re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \|$", page, re.MULTILINE):
        if name in VARIANTS:
            rows[name] = (does, dict(re.findall(r"`([^`]+)`(?: \((\w+)\))?", apis)))
    assert rows == {
        name: (
            DELIVERIES[name].does,
            {
                api: "" if level == "should" else level
                for api in APIS
                if name in APIS[api].variants and (level := APIS[api].variants[name].level)
            },
        )
        for name in VARIANTS
    }


def test_the_level_of_a_variant_is_that_of_its_api_or_the_lower_one_of_the_case():
    trial = make_trial(find_case("openai-chat/tool-calls/parallel-calls"), "names-in-pieces", 0)
    assert trial.level == APIS["openai-chat"].variants["names-in-pieces"].level == "may"
    levels = {
        trial.level
        for trial in expand([find_case("openai-chat/tool-calls/name-in-pieces")], VARIANTS, "http", 0)
    }
    assert levels == {"may"}


def test_the_ids_of_calls_are_judged_only_if_the_variant_sends_them():
    case = find_case("openai-chat/tool-calls/parallel-calls")
    for name, variant in APIS["openai-chat"].variants.items():
        delivered = vary(read_stream(case), name)
        if delivered is not None:
            calls = [
                block for block in (delivered.derived or case.expect).content if block.type == "tool_call"
            ]
            changes_ids = name.startswith("ids-") and name != "ids-repeated"
            assert ["id" in block.fields for block in calls] == [not changes_ids] * len(calls), variant


def test_a_vendors_client_is_judged_only_on_variants_that_the_vendor_may_send():
    case = find_case("openai-chat/tool-calls/name-empty-on-later-fragments")
    trials = [trial for trial in expand([case], VARIANTS, "http", 0) if isinstance(trial, Trial)]
    judged = {trial.delivery for trial in trials if explain_foreign_trial(trial, "mistral") is None}
    assert judged < {trial.delivery for trial in trials}
    assert judged
