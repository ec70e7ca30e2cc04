"""Strategies for any outcome that a decoder can return.

The accumulator of the decoders builds them, so that only possible outcomes are generated.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import strategies as st

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.encoding.losses import join_surrogates
from streamconform_reference.outcome import Error, Other, Outcome, Usage

from .outcomes import CITATIONS, OTHERS, READERS, STOPS

Step = Callable[[Assembler, int], None]
"""A function that adds a block to an answer."""

COUNTS = st.one_of(st.none(), st.sampled_from([0, 1, 17]), st.integers(0, 10**9))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=3)
ODD = st.sampled_from(
    ["\u2028\u2029", "\x85\x0b\x0c", "\r\n\n", "data: [DONE]", "é👍", "\ud83d", "\ude00", "\x00", '"\\']
)


def words() -> st.SearchStrategy[str]:
    """Draw any text, or text with line ends, strings or characters that some libraries break."""
    text = st.text(max_size=8) | st.lists(ODD, max_size=3).map("".join)
    return text.map(join_surrogates)


@st.composite
def prose(draw: st.DrawFn) -> Step:
    """Draw a block of text, thinking or refusal, sometimes without text or end."""
    kind = draw(st.sampled_from(["text", "text", "thinking", "thinking", "refusal"]))
    text, ends = draw(words()), draw(st.booleans())
    signature = draw(st.sampled_from(["", "sig=", "c2ln"]))
    redacted = draw(st.booleans())
    phase = draw(st.sampled_from([None, None, "commentary", "final_answer"]))
    apis = draw(st.lists(st.sampled_from(sorted(CITATIONS)), max_size=2))
    cited = [citation for api in apis for citation in READERS[api](CITATIONS[api])]

    def step(message: Assembler, slot: int) -> None:
        message.start(slot, kind, text, phase=phase if kind == "text" else None)
        if kind == "text":
            message.sign_content(slot, signature)
            message.cite(slot, cited)
        if kind == "thinking" and (signature or redacted):
            message.sign(slot, signature, redacted=redacted)
        if ends:
            message.end(slot)

    return step


@st.composite
def call(draw: st.DrawFn) -> Step:
    """Draw a call: complete, cut, malformed, with only a value, or with a value that contradicts its text."""
    name = draw(st.sampled_from(["f", "get_weather"]))
    executor = draw(st.sampled_from(["client", "client", "provider"]))
    initial_arguments = draw(st.none() | OBJECTS | VALUES)
    whole = json.dumps(draw(OBJECTS))
    cut = draw(st.integers(0, len(whole)))
    odd = [[], [""], [" "], ["{oops"], ["null"], ["[1]"]]
    fragments = draw(st.sampled_from([[whole], [whole[:cut], whole[cut:]], [whole[:cut]], *odd]))
    repeated = draw(st.none() | st.just('{"x": 2}') | st.just("{no"))
    free_text = draw(st.sampled_from([False, False, False, True]))
    ends = draw(st.sampled_from([True, True, False]))
    signature = draw(st.sampled_from(["", "", "c2ln"]))
    identity = draw(st.sampled_from([None, "toolu_", "call_"]))

    def step(message: Assembler, slot: int) -> None:
        message.start_call(
            slot,
            id=identity and f"{identity}{slot}",
            name=name,
            executor=executor,
            initial_arguments=initial_arguments,
            free_text=free_text,
        )
        message.sign_content(slot, signature)
        for fragment in fragments:
            message.add_arguments(slot, fragment)
        if repeated is not None:
            message.settle_arguments(slot, repeated)
        if ends:
            message.end(slot)

    return step


def other(block: Other) -> Step:
    """Return the step that adds an `other` block."""
    return lambda message, _: message.add_other(block.kind, block.data)


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    """Draw an outcome."""
    message = Assembler()
    message.model = draw(st.sampled_from(["m", "claude", None]))
    message.response_id = draw(st.sampled_from(["msg_1", "r", None]))
    steps = draw(st.lists(prose() | call() | st.sampled_from(OTHERS).map(other), max_size=6))
    for slot, step in enumerate(steps):
        step(message, slot)
    if draw(st.booleans()):
        names = st.sampled_from(list(Usage().to_json()))
        message.report_usage(draw(st.dictionaries(names, COUNTS, max_size=7)))
    ending = draw(st.sampled_from(["complete", "complete", "complete", "incomplete", "error"]))
    if ending != "incomplete" and draw(st.sampled_from([True, True, False])):
        message.stop(*draw(st.sampled_from(STOPS)))
    if ending == "complete":
        message.complete()
    elif ending == "error":
        statuses = st.sampled_from([None, 400, 429, 503, 529])
        messages = st.none() | words().filter(bool)
        kinds = st.sampled_from([None, "overloaded_error", "server_error", "protocol"])
        message.fail(Error(draw(kinds), draw(messages), draw(statuses)))
    else:
        message.end_of_file()
    return message.snapshot()
