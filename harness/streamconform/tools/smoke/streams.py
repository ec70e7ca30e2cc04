"""What is asked: for each api two bundled recordings, a text and a tool call, and the text cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.resources import bundled
from streamconform.suite.cassettes import load
from streamconform.suite.expand import make_trial
from streamconform.tools.smoke.transcript import Stream

CUT: Final = "cut-after-frame"
PRICING: Final = {"input": "3.00", "output": "15.00"}


@dataclass(frozen=True, slots=True)
class Small:
    """The cassettes of an api, and what anybody reads in them."""

    text_in: str
    text: str
    call_in: str
    name: str
    arguments: Mapping[str, Any]


SMALL: Final[Mapping[str, Small]] = {
    "anthropic-messages": Small(
        "single-text-block",
        "Nairobi lies about 1,795 metres above sea level.",
        "first-delta-empty",
        "convert_units",
        {"value": 26.2, "to": "km"},
    ),
    "openai-chat": Small(
        "text-plain",
        "Cork floats because most of it is air.",
        "first-fragment-with-brace",
        "get_weather",
        {"city": "Split"},
    ),
    "openai-responses": Small(
        "one-message",
        "Lake Baikal is 1,642 metres deep at its deepest.",
        "one-call",
        "get_weather",
        {"city": "Accra"},
    ),
    "google-generate": Small(
        "several-chunks",
        "Marble is limestone that heat and pressure have changed. Its veins are what was clay.",
        "one-call",
        "get_weather",
        {"city": "Porto", "unit": "celsius"},
    ),
    "ollama-chat": Small(
        "plain-text", "A slate roof lasts a hundred years.", "one-call", "get_weather", {"city": "Oslo"}
    ),
    "cohere-chat": Small(
        "plain-text", "Swifts sleep on the wing.", "arguments-in-one-delta", "get_weather", {"city": "Gent"}
    ),
    "bedrock-converse": Small(
        "plain-text", "The kettle is on the second shelf.", "single-call", "get_weather", {"city": "Paris"}
    ),
}
"""The recordings of every api."""


@cache
def streams(api: str) -> tuple[Stream, Stream, Stream]:
    """Return the text, the tool call and the cut of `api`; raises `SourceError` where they are damaged."""
    of = SMALL[api]
    text, call = _case(api, of.text_in), _case(api, of.call_in)
    asked = {"name": of.name, "arguments": of.arguments}
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
        cassette=load(bundled("cassettes"), api, name),
        expect=NOTHING_EXPECTED,
        pricing=PRICING,
    )
