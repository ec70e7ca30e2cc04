"""The smallest streams of ten mutants in all APIs are tiny, fail the mutant and pass the reference."""

from __future__ import annotations

import pytest

from streamconform.apis import APIS
from streamconform.model.trial import DELIVERY_SETS
from streamconform.wire.framings import split
from streamconform_capture.minimise.search import judge_reference
from streamconform_mutants import load as load_mutant
from streamconform_reference.adapter import adapter as reference

from .searching import judge_case, load_cases, run_search, write_case

MAX_FRAMES = 5

MUTANTS = {
    "usage-summed": "anthropic-messages/cost/cost-plain",
    "empty-arguments-dropped": "anthropic-messages/tool-use/no-arguments-empty-delta",
    "cached-subset-not-subtracted": "openai-chat/cost/cost-of-tool-calls",
    "hosted-tool-as-client": "openai-responses/hosted-tools/reasoning-around-searches",
    "first-part-only": "google-generate/tool-use/same-call-twice-with-ids",
    "array-parsed-by-read": "google-generate/framing/array-usage-behind-the-end@whole",
    "done-hides-calls": "ollama-chat/tool-use/large-arguments",
    "v1-calls-ignored": "cohere-chat/v1/v1-calls-whole",
    "exception-dropped": "bedrock-converse/errors/exception-of-another-type",
    "tool-input-lost": "bedrock-converse/truncation/cut-after-whole-call",  # six frames if it were not cut
}


@pytest.mark.parametrize(("name", "case"), MUTANTS.items())
def test_the_smallest_stream_fails_the_mutant_and_passes_the_reference(tmp_path, name, case):
    search = run_search(case, f"mutant:{name}")
    written = write_case(tmp_path, search)
    frames = split(
        APIS[written.api].detect_framing(written.cassette.status, written.cassette.body),
        written.cassette.body,
    )
    assert search.finished
    assert 1 <= len(frames) <= MAX_FRAMES
    assert len(written.cassette.body) < len(load_cases(written.api)[case.partition("@")[0]].cassette.body)
    assert search.oracle.target in search.final_failures
    assert judge_reference(search.best).verdict == "pass"
    caught = "fail" if written.level == "must" else "warn"
    assert judge_case(written, load_mutant(name)) == {"as-is": caught}
    assert set(judge_case(written, reference, DELIVERY_SETS["full"], "all").values()) == {"pass"}


def test_the_mutants_cover_all_apis():
    assert len({case.partition("/")[0] for case in MUTANTS.values()}) == 7
