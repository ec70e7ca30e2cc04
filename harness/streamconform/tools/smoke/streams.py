"""The sample streams of `conform smoke`: per API a text, a tool call, and the text cut off."""

from __future__ import annotations

from functools import cache
from typing import Final

from streamconform.apis import APIS
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.resources import find_bundled
from streamconform.suite.cassettes import load
from streamconform.suite.expand import make_trial
from streamconform.tools.smoke.transcript import SampleStream

CUT: Final = "cut-after-frame"
PRICING: Final = {"input": "3.00", "output": "15.00"}


@cache
def load_streams(api: str) -> tuple[SampleStream, SampleStream, SampleStream]:
    """Return the text, the tool call and the cut of `api`; raises `SourceError` if a recording is damaged."""
    smoke = APIS[api].smoke
    text, call = _make_case(api, smoke.text_cassette), _make_case(api, smoke.call_cassette)
    expected_call = {"name": smoke.call_name, "arguments": smoke.call_arguments}
    return (
        SampleStream(name="text", trial=make_trial(text, "recorded", 0), status="complete", text=smoke.text),
        SampleStream(
            name="tool-call", trial=make_trial(call, "recorded", 0), status="complete", call=expected_call
        ),
        SampleStream(name="cut", trial=make_trial(text, CUT, 0), status="incomplete", text=smoke.text),
    )


def _make_case(api: str, name: str) -> Case:
    return Case(
        id=f"{api}/smoke/{name}",
        api=api,
        title=name,
        cassette=load(find_bundled("cassettes"), api, name),
        expect=NOTHING_EXPECTED,
        pricing=PRICING,
    )
