"""Decoding an encoded answer gives the answer, except for the API's losses."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from msgspec.structs import replace

from streamconform_proxy import ROUTES
from streamconform_reference.apis import DECODERS, DOCUMENT_WRITERS, ENCODERS, LOSSES
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.document import decode_document
from streamconform_reference.encoding.encoder import (
    FORMS,
    PLACEHOLDER,
    Encoder,
    Form,
    Piece,
    apply_losses,
    encode,
    to_pieces,
)
from streamconform_reference.events import (
    Done,
    Failed,
    ProseDelta,
    ProseStart,
    TextEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from streamconform_reference.json_text.codec import dumps
from streamconform_reference.outcome import Error, Outcome, Stop, Text, Usage

from ..for_each import for_each
from .generated_outcomes import outcomes
from .outcomes import CALLED, EXAMPLES, a_call, decoded_cases, whole

APIS = sorted(ENCODERS)
UNCHECKED = {"tools": [{"name": "f", "eager_input_streaming": True}]}
"""A request after which arguments may be invalid JSON, which a model can always write."""
OPEN = {"one-terminal", "done-marker"}
"""The text missing at the end of an answer that broke off."""


def made(api: str) -> Encoder:
    return ENCODERS[api](model="m", response_id="r")


def decoded(api: str, body: bytes) -> Outcome:
    decoder = DECODERS[api]()
    decoder.receive_data(body)
    decoder.receive_eof()
    return decoder.outcome


def write_and_read(api: str, given: Outcome, form: Form = "stream") -> Outcome:
    """Return the decoded stream or document of an outcome."""
    if form == "stream":
        return decoded(api, encode(ENCODERS, api, given))
    names = {"model": given.model or PLACEHOLDER, "response_id": given.response_id or PLACEHOLDER}
    return decode_document(dumps(DOCUMENT_WRITERS[api](given, **names)), api)


def broken(api: str, body: bytes, *, broke_off: bool = False) -> list[str]:
    """Return the `must` rules that a stream violates."""
    found = GRAMMARS[api].of_body([body], UNCHECKED)
    allowed = OPEN if broke_off else set()
    return [
        f"{each.rule}: {each.message}" for each in found if each.level == "must" and each.rule not in allowed
    ]


def assert_written(api: str, given: Outcome) -> None:
    """Assert that the stream and document decode to the expressible outcome, which encodes unchanged."""
    stream = apply_losses(LOSSES, api, given)
    assert write_and_read(api, given) == stream, api
    assert apply_losses(LOSSES, api, stream) == stream, api
    assert write_and_read(api, given, "document") == apply_losses(LOSSES, api, given, form="document"), api
    body = encode(ENCODERS, api, given)
    assert broken(api, body, broke_off=given.status == "incomplete") == [], api


def test_the_encoded_apis_are_those_in_which_the_proxy_answers() -> None:
    assert ENCODERS.keys() == DOCUMENT_WRITERS.keys() == LOSSES.keys() == {client for client, _ in ROUTES}


@for_each("name", EXAMPLES)
def test_every_api_encodes_the_examples(name: str) -> None:
    for api in APIS:
        assert_written(api, EXAMPLES[name])


@given(given=outcomes())
def test_every_api_encodes_any_outcome(given: Outcome) -> None:
    for api in APIS:
        assert_written(api, given)


@pytest.mark.parametrize("api", APIS)
def test_an_api_encodes_the_answers_of_its_own_cassettes(api: str) -> None:
    own = [case.outcome for case in decoded_cases() if case.api == api]
    assert own
    for outcome in own:
        assert_written(api, outcome)


@pytest.mark.parametrize("api", APIS)
def test_an_api_encodes_the_answers_of_other_apis(api: str) -> None:
    for case in decoded_cases()[::4]:
        assert write_and_read(api, case.outcome) == apply_losses(LOSSES, api, case.outcome), case.name


@pytest.mark.parametrize("api", APIS)
def test_every_row_of_the_losses_applies_to_an_answer(api: str) -> None:
    idle = {(loss.name, form) for loss in LOSSES[api] for form in loss.forms}
    for outcome in [*EXAMPLES.values(), *(case.outcome for case in decoded_cases())]:
        if not idle:
            break
        for form in FORMS:
            before = outcome
            for loss in LOSSES[api]:
                after = loss.apply(before) if form in loss.forms else before
                if after != before:
                    idle.discard((loss.name, form))
                before = after
    assert idle == set()


@pytest.mark.parametrize("api", APIS)
def test_rows_have_names_of_their_own(api: str) -> None:
    names = [loss.name for loss in LOSSES[api]]
    assert len(set(names)) == len(names)


def characters(parts: Iterable[Piece]) -> Iterable[Piece]:
    """Yield the pieces with every delta split into characters."""
    for part in parts:
        if isinstance(part, (ProseDelta, ToolCallDelta)):
            yield from (replace(part, delta=character) for character in part.delta)
        else:
            yield part


@pytest.mark.parametrize("api", APIS)
def test_it_does_not_matter_how_an_answer_is_cut_into_pieces(api: str) -> None:
    for name, outcome in EXAMPLES.items():
        encoder = ENCODERS[api](
            model=outcome.model or PLACEHOLDER, response_id=outcome.response_id or PLACEHOLDER
        )
        parts = characters(to_pieces(outcome))
        body = encoder.opening() + b"".join(encoder.piece(part) for part in parts)
        assert decoded(api, body) == apply_losses(LOSSES, api, outcome), name


@pytest.mark.parametrize("api", APIS)
def test_text_is_written_immediately(api: str) -> None:
    encoder, decoder = made(api), DECODERS[api]()
    decoder.receive_data(encoder.opening())
    pieces = [ProseStart(0, "text"), ProseDelta(0, "text", "one "), ProseDelta(0, "text", "two")]
    for count, part in enumerate(pieces):
        decoder.receive_data(encoder.piece(part))
        text = "".join(each.text for each in decoder.snapshot().content if isinstance(each, Text))
        assert text == "".join(["one ", "two"][:count])


@pytest.mark.parametrize("api", APIS)
def test_a_ping_changes_nothing(api: str) -> None:
    outcome = EXAMPLES["everything at its usual place"]
    encoder = made(api)
    written = [encoder.opening(), encoder.ping()]
    for part in to_pieces(outcome):
        written += [encoder.piece(part), b"" if isinstance(part, Done) else encoder.ping()]
    body = b"".join(written)
    assert decoded(api, body) == apply_losses(LOSSES, api, outcome)
    assert broken(api, body) == []


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("last", [Done(Stop("stop", None)), Failed("incomplete", None)])
def test_nothing_is_written_after_the_end(api: str, last: Piece) -> None:
    encoder = made(api)
    encoder.opening()
    encoder.piece(last)
    late: list[Piece] = [
        ProseStart(0, "text"),
        ProseDelta(0, "text", "late"),
        TextEnd(0, "text", "late"),
        last,
    ]
    assert b"".join(encoder.piece(part) for part in late) == b""


@pytest.mark.parametrize("api", APIS)
def test_a_name_and_a_line_separator_of_any_kind_stay_in_their_frame(api: str) -> None:
    words = "a\nb\rc\u2028d\x85e\x0bf\x1cg"
    outcome = whole(Text(words), model=words)
    assert write_and_read(api, outcome) == apply_losses(LOSSES, api, outcome)


@pytest.mark.parametrize("api", APIS)
def test_calls_whose_fragments_interleave_stay_apart(api: str) -> None:
    first, second = a_call(), a_call(id="toolu_2", arguments={"x": 2}, arguments_text='{"x":2}')
    parts: list[Piece] = [
        ToolCallStart(0, "toolu_1", "f"),
        ToolCallDelta(0, '{"x"'),
        ToolCallStart(1, "toolu_2", "f"),
        ToolCallDelta(1, '{"x":'),
        ToolCallDelta(0, ":1}"),
        ToolCallDelta(1, "2}"),
        ToolCallEnd(0, first),
        ToolCallEnd(1, second),
        UsageUpdate(Usage(input=3, output=5), None),
        Done(CALLED),
    ]
    encoder = made(api)
    body = encoder.opening() + b"".join(encoder.piece(part) for part in parts)
    assert decoded(api, body) == apply_losses(LOSSES, api, whole(first, second, stop=CALLED))
    assert broken(api, body) == []


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", ["incomplete", "error"])
def test_an_unended_call_is_not_executable(api: str, status: str) -> None:
    encoder = made(api)
    parts: list[Piece] = [
        ToolCallStart(0, "toolu_1", "f"),
        ToolCallDelta(0, '{"x":1}'),
        ProseStart(1, "text"),
        ProseDelta(1, "text", "Hi"),
        Failed("incomplete", None)
        if status == "incomplete"
        else Failed("error", Error("api_error", "Oops.", None)),
    ]
    body = encoder.opening() + b"".join(encoder.piece(part) for part in parts)
    outcome = decoded(api, body)
    assert outcome.status == status
    assert not any(getattr(block, "arguments", None) for block in outcome.content)
