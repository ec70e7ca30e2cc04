"""Of ten broken parsers over all apis the smallest stream is tiny, fails them, and passes the reference."""

from __future__ import annotations

import pytest
from streamconform.apis import APIS
from streamconform.model.trial import DELIVERY_SETS
from streamconform.tools.minimise.search import judge_reference
from streamconform.wire.framings import split
from streamconform_mutants import load as load_mutant
from streamconform_reference.adapter import adapter as reference

from .searching import cases, searched, verdicts, written

MOST_FRAMES = 5

TEN = {
    "usage-summed": "anthropic-messages/cost/cost-plain",
    "empty-arguments-dropped": "anthropic-messages/tool-use/no-arguments-empty-delta",
    "cached-subset-not-subtracted": "openai-chat/cost/cost-of-tool-calls",
    "hosted-tool-as-client": "openai-responses/hosted-tools/reasoning-around-searches",
    "first-part-only": "google-generate/tool-use/same-call-twice-with-ids",
    "array-parsed-by-read": "google-generate/framing/array-usage-behind-the-end@whole",
    "done-hides-calls": "ollama-chat/tool-use/large-arguments",
    "v1-calls-ignored": "cohere-chat/v1/v1-calls-whole",
    "exception-dropped": "bedrock-converse/errors/exception-of-another-type",
    "tool-input-lost": "bedrock-converse/truncation/cut-after-whole-call",  # six frames where it goes on
}


@pytest.mark.parametrize(("name", "case"), TEN.items())
def test_the_smallest_stream_fails_the_mutant_and_passes_the_reference(tmp_path, name, case):
    search = searched(case, f"mutant:{name}")
    kept = written(tmp_path, search)
    frames = split(
        APIS[kept.api].detect_framing(kept.cassette.status, kept.cassette.body), kept.cassette.body
    )
    assert search.ended
    assert 1 <= len(frames) <= MOST_FRAMES
    assert len(kept.cassette.body) < len(cases(kept.api)[case.partition("@")[0]].cassette.body)
    assert search.oracle.target in search.proof
    assert judge_reference(search.best).verdict == "pass"
    assert verdicts(kept, load_mutant(name)) == {"recorded": "fail"}
    assert set(verdicts(kept, reference, DELIVERY_SETS["full"], "all").values()) == {"pass"}


def test_all_apis_are_among_the_ten():
    assert len({case.partition("/")[0] for case in TEN.values()}) == 7
