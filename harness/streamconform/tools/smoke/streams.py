"""The streams of a smoke test: two bundled recordings per API, a text and a tool call, and the text cut."""

from __future__ import annotations

from functools import cache
from typing import Final

from streamconform.apis import APIS
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.resources import find_bundled
from streamconform.suite.cassettes import load
from streamconform.suite.expand import make_trial
from streamconform.tools.smoke.transcript import Stream

CUT: Final = "cut-after-frame"
PRICING: Final = {"input": "3.00", "output": "15.00"}


@cache
def streams(api: str) -> tuple[Stream, Stream, Stream]:
    """Return the text, the tool call and the cut of `api`; raises `SourceError` where they are damaged."""
    of = APIS[api].smoke
    text, call = _case(api, of.text_cassette), _case(api, of.call_cassette)
    asked = {"name": of.call_name, "arguments": of.call_arguments}
    return (
        Stream(name="text", trial=make_trial(text, "recorded", 0), status="complete", text=of.text),
        Stream(name="tool-call", trial=make_trial(call, "recorded", 0), status="complete", call=asked),
        Stream(name="cut", trial=make_trial(text, CUT, 0), status="incomplete", text=of.text),
    )


def _case(api: str, name: str) -> Case:
    return Case(
        id=f"{api}/smoke/{name}",
        api=api,
        title=name,
        cassette=load(find_bundled("cassettes"), api, name),
        expect=NOTHING_EXPECTED,
        pricing=PRICING,
    )
