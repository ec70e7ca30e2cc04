"""Outcomes to encode: one for each property that an API may be unable to express, and those of cassettes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from streamconform_reference.adapter import open_decoder
from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.anthropic_messages import content as anthropic_content
from streamconform_reference.apis.bedrock_converse import content as bedrock_content
from streamconform_reference.apis.cohere_chat import citations as cohere_citations
from streamconform_reference.apis.google_interactions import steps as interactions_steps
from streamconform_reference.apis.openai_chat import citations as chat_citations
from streamconform_reference.apis.openai_responses import answer as responses_answer
from streamconform_reference.outcome import (
    Block,
    Citation,
    Cost,
    Error,
    Other,
    Outcome,
    Refusal,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from ..bundled_suite import streams

STOPS = [
    ("stop", "end_turn"),
    ("stop", "stop_sequence"),
    ("stop", "stop"),
    ("stop", "COMPLETE"),
    ("stop", "STOP"),
    ("stop", "completed"),
    ("stop", None),
    ("length", "max_tokens"),
    ("length", "model_context_window_exceeded"),
    ("length", "length"),
    ("length", "MAX_TOKENS"),
    ("length", "max_output_tokens"),
    ("tool_use", "tool_use"),
    ("tool_use", "tool_calls"),
    ("tool_use", "TOOL_CALL"),
    ("content_filter", "content_filter"),
    ("content_filter", "SAFETY"),
    ("content_filter", "content_filtered"),
    ("refusal", "refusal"),
    ("pause", "pause_turn"),
    ("other", "OTHER"),
    ("other", "compaction"),
    ("other", "load"),
    ("other", None),
]
CITATIONS: Mapping[str, Any] = {
    "anthropic-messages": {"type": "char_location", "cited_text": "sky", "document_index": 0},
    "openai-chat": {"type": "url_citation", "url_citation": {"url": "https://x.test", "title": "X"}},
    "openai-responses": {"type": "url_citation", "url": "https://x.test", "start_index": 0, "end_index": 2},
    "bedrock-converse": {
        "title": "X",
        "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 2}},
    },
    "google-interactions": {"type": "place_citation", "place_id": "p", "name": "X"},
    "cohere-chat": {"start": 0, "end": 2, "text": "Hi", "sources": [{"id": "a"}, {"id": "b"}]},
    "none": {"start": 0, "end": 3},
}
WEB_SEARCH = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}}
READERS: Mapping[str, Callable[[Any], Iterable[Citation]]] = {
    "anthropic-messages": lambda data: [anthropic_content.CITATIONS.read(data)],
    "openai-chat": lambda data: [chat_citations.read_annotation(data)],
    "openai-responses": lambda data: [responses_answer.CITATIONS.read(data)],
    "bedrock-converse": lambda data: [bedrock_content.read_citation(data)],
    "google-interactions": lambda data: [interactions_steps.CITATIONS.read(data)],
    "cohere-chat": cohere_citations.read_citations,
    "none": lambda data: [Citation(data=data)],
}
CITED = tuple(citation for api, data in CITATIONS.items() for citation in READERS[api](data))
OTHERS = [
    Other("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
    Other("compaction", {"type": "compaction", "content": "Short."}),
    Other("image", {"type": "image", "data": "AA=="}),
    Other("mcp_list_tools", {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}),
    Other("web_search_call", WEB_SEARCH),
    Other("tool_result", {"toolUseId": "t", "status": "success", "content": [{"text": "1"}]}),
    Other("image", {"format": "png"}),
    Other("executableCode", {"language": "PYTHON", "code": "1"}),
    Other("groundingMetadata", {"webSearchQueries": ["x"]}),
    Other("groundingMetadata", {"webSearchQueries": ["y"]}),
]


def whole(*content: Block, **fields: Any) -> Outcome:
    """Return an outcome, by default a complete one."""
    usual: dict[str, Any] = {
        "status": "complete",
        "stop": Stop("stop", "end_turn"),
        "usage": Usage(input=3, output=5),
        "cost": None,
        "error": None,
        "model": "m",
        "response_id": "r",
    }
    return Outcome(content=content, **{**usual, **fields})


def a_call(**fields: Any) -> ToolCall:
    """Return a call, by default a complete one."""
    usual: dict[str, Any] = {
        "id": "toolu_1",
        "name": "f",
        "arguments": {"x": 1},
        "arguments_text": '{"x":1}',
        "complete": True,
        "executor": "client",
    }
    return ToolCall(**{**usual, **fields})


CALLED = Stop("tool_use", "tool_use")
CUT = Stop("length", "max_tokens")
HALF = {"complete": False, "arguments": None}
SIGNED = Thinking(text="hm", signature="c2ln", redacted=False)
SEALED = Thinking(text="", signature="c2VhbGVk", redacted=False)
COST = Cost(input="1", cache_read="0", cache_write="0", output="2", other="0", total="3")

EXAMPLES: Mapping[str, Outcome] = {
    "everything at its usual place": whole(SIGNED, Text("Hi"), a_call(), stop=CALLED),
    "cost": whole(Text("Hi"), cost=COST),
    "no names": whole(Text("Hi"), model=None, response_id=None),
    "refusal": whole(Refusal("No."), stop=Stop("refusal", "stop")),
    "refusal without text": whole(stop=Stop("refusal", "refusal")),
    "all kinds of other": whole(Text("Hi"), *OTHERS),
    "citations of every API": whole(Text("Hi", citations=CITED)),
    "citations before a call": whole(Text("Hi", citations=CITED), a_call(), stop=CALLED),
    "citations without text": whole(Text("", citations=CITED)),
    "citations of several texts": whole(
        Text("Hi"), Text("Ho", citations=CITED), a_call(), Text("He", citations=CITED), stop=CALLED
    ),
    "citations of version 1": whole(
        Text("Hi", citations=(*cohere_citations.read_citations({"document_ids": ["a", "b"]}),))
    ),
    "a phase": whole(Text("Hm", phase="commentary"), Text("Hi", phase="final_answer")),
    "signed text": whole(Text("Hi", signature="c2ln"), Text("", signature="c2ln")),
    "signed calls": whole(
        a_call(signature="c2ln"), a_call(id="s_1", executor="provider", signature="c2ln"), stop=CALLED
    ),
    "a stop sequence": whole(Text("Hi"), stop=Stop("stop", "stop_sequence", sequence="END")),
    "details of the stop": whole(
        Text("Hi"), stop=Stop("refusal", "refusal", details={"type": "refusal", "category": "cyber"})
    ),
    "a token to continue": whole(Text("Hi"), stop=Stop("pause", "CONTINUATION"), continuation="dG9r"),
    "thinking, unsigned": whole(Thinking(text="hm", signature=None, redacted=False)),
    "redacted thinking": whole(Thinking(text="", signature="ZW5j", redacted=True), Text("Hi")),
    "redacted thinking with text": whole(Thinking(text="hm", signature="ZW5j", redacted=True)),
    "empty prose": whole(Text(""), Thinking(text="", signature=None, redacted=False), Refusal("")),
    "neighbours": whole(Text("a\ud83d"), Text("\ude00b"), Refusal("No"), Refusal("."), SIGNED, SIGNED),
    "prose behind a call": whole(Text("a"), a_call(), Text("b"), SIGNED, stop=CALLED),
    "arguments without text": whole(a_call(arguments_text=None), stop=CALLED),
    "no arguments": whole(a_call(arguments_text="", arguments={}), stop=CALLED),
    "arguments that are no object": whole(a_call(arguments=[1], arguments_text="[1]"), stop=CALLED),
    "malformed arguments": whole(a_call(arguments=None, arguments_text="{oops"), stop=CALLED),
    "contradicted arguments": whole(a_call(arguments={"x": 2}), stop=CALLED),
    "null as arguments": whole(a_call(arguments=None, arguments_text="null"), stop=CALLED),
    "free text": whole(a_call(arguments="ls", arguments_text="ls"), stop=CALLED),
    "a cut call": whole(a_call(**HALF, arguments_text='{"x'), stop=CUT),
    "a call that is cut where it looks whole": whole(a_call(**HALF), stop=CUT),
    "a call that is cut before its arguments": whole(a_call(**HALF, arguments_text=None), stop=CUT),
    "an open call in a complete answer": whole(a_call(**HALF), Text("Hi"), stop=CALLED),
    "an open call in an answer that broke off": whole(
        a_call(**HALF), a_call(id="toolu_2"), status="incomplete", stop=Stop(None, None)
    ),
    "a call of the provider": whole(
        a_call(id="srvtoolu_1", executor="provider"), a_call(id="mcptoolu_1", executor="provider"), Text("Hi")
    ),
    "a hosted call and its result": whole(
        a_call(
            id="ws_1",
            name="web_search",
            executor="provider",
            arguments={"type": "search", "query": "x"},
            arguments_text=None,
        ),
        Text("Hi"),
        Other("web_search_call", WEB_SEARCH),
    ),
    "signatures of what follows": whole(
        Text("Hi"),
        SEALED,
        SIGNED,
        a_call(),
        SEALED,
        Other("executableCode", {"code": "1"}),
        SEALED,
        stop=CALLED,
    ),
    "metadata before the text": whole(Other("groundingMetadata", {"webSearchQueries": ["x"]}), Text("Hi")),
    "every count": whole(
        Text("Hi"),
        usage=Usage(
            input=1, cache_read=2, cache_write=3, cache_write_1h=1, output=7, reasoning=4, web_searches=1
        ),
    ),
    "no usage": whole(Text("Hi"), usage=None),
    "one count": whole(Text("Hi"), usage=Usage(web_searches=2)),
    "broke off": whole(Text("Hi"), status="incomplete", stop=Stop(None, None)),
    "failed": whole(
        Text("Hi"),
        status="error",
        stop=Stop("error", "stop"),
        error=Error("rate_limit_exceeded", "Slow down.", 429),
    ),
    "failed without words": whole(status="error", stop=Stop("error", None), error=Error(None, None, None)),
    **{f"ends with {reason}, {raw}": whole(Text("Hi"), stop=Stop(reason, raw)) for reason, raw in STOPS},
}
"""Outcomes that an API may be unable to express, by their property."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The reference's outcome for the cassette of a bundled case."""

    name: str
    api: str
    outcome: Outcome


@cache
def decoded_cases() -> tuple[Decoded, ...]:
    """Return the outcome of each cassette of the bundled stream cases."""
    found: dict[str, Decoded] = {}
    for case in streams():
        if case.api not in DECODERS:
            continue
        cassette = case.cassette
        run = SimpleNamespace(
            api=case.api, status=cassette.status, headers=cassette.headers, pricing=None, chunks=[]
        )
        decoder = open_decoder(run, DECODERS)
        decoder.receive_data(cassette.body)
        decoder.receive_eof()
        name = f"{case.api}/{cassette.name}"
        found[name] = Decoded(name, case.api, decoder.outcome)
    return tuple(found.values())
