"""The samples for `conform smoke`: for each API, a text, a tool call, a truncated text, and a document."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Final

from streamconform.apis import APIS
from streamconform.apis.api import CANNED_TEXT
from streamconform.model.behavior import Control, ScriptedReply, ScriptStep
from streamconform.model.case import NOTHING_EXPECTED, BehaviorCase, BehaviorExpectation, Case
from streamconform.model.trial import AS_IS, Behavior
from streamconform.replay.endpoints import read_target
from streamconform.resources import find_bundled
from streamconform.smoke.transcript import SampleStream
from streamconform.suite.cassettes import load
from streamconform.suite.documents import take_document
from streamconform.suite.expand import make_trial

CUT: Final = "cut-after-frame"
_REST: Final = (ScriptStep("send", "all"), ScriptStep("end"))
PRICING: Final = {"input": "3.00", "output": "15.00"}


@cache
def load_streams(api: str) -> tuple[SampleStream, SampleStream, SampleStream]:
    """Return the text, the tool call and the truncated text for `api`. Raises `SourceError` if damaged."""
    smoke = APIS[api].smoke
    text, call = _make_case(api, smoke.text_cassette), _make_case(api, smoke.call_cassette)
    expected_call = {"name": smoke.call_name, "arguments": smoke.call_arguments}
    return (
        SampleStream(name="text", trial=make_trial(text, AS_IS, 0), status="complete", text=smoke.text),
        SampleStream(
            name="tool-call", trial=make_trial(call, AS_IS, 0), status="complete", call=expected_call
        ),
        SampleStream(name="cut", trial=make_trial(text, CUT, 0), status="incomplete", text=smoke.text),
    )


@cache
def load_document(api: str) -> SampleStream:
    """Return the shortest non-streaming answer in `api`. Raises the same errors as `load_streams`."""
    text = _make_case(api, APIS[api].smoke.text_cassette)
    reply = APIS[api].choose_reply(read_target(text.cassette.request.path))
    twin = json.dumps(reply.document(text.cassette.model or "m")).encode()
    document = take_document(replace(text.cassette, twin=twin))
    assert document is not None, "it has a twin"
    trial = make_trial(replace(text, cassette=document, stream=False), AS_IS, 0)
    return SampleStream(name="document", trial=trial, status="complete", text=CANNED_TEXT)


def make_script(api: str, control: Control) -> Behavior:
    """Return a script with whole answers, which asks a client for `control`."""
    text = load_streams(api)[0].trial.case
    steps: tuple[ScriptStep, ...] = _REST
    if control.stop is not None:
        steps = (ScriptStep("send", "all-but-last"), ScriptStep("wait", "answer"), *_REST)
    elif control.pause is not None:
        steps = (
            ScriptStep("send", "all-but-last"),
            ScriptStep("wait", "pause"),
            ScriptStep("flood", 0),
            *_REST,
        )
    case = BehaviorCase(
        id=f"{api}/smoke/control",
        title="control",
        api=api,
        control=control,
        streams={"text": text},
        halves={},
        replies=(ScriptedReply("text", steps),),
        expect=BehaviorExpectation(),
    )
    return Behavior(case)


def _make_case(api: str, name: str) -> Case:
    return Case(
        id=f"{api}/smoke/{name}",
        api=api,
        title=name,
        cassette=load(find_bundled("cassettes"), api, name),
        expect=NOTHING_EXPECTED,
        pricing=PRICING,
    )
