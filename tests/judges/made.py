"""Cases and answers for the rules that no bundled case needs; some recordings that are fetched do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from streamconform.judge.align import MAX_PAIRS
from streamconform.model.case import Case, Expectation, ExpectedBlock
from streamconform.model.leaf import AnyOf, Digest, Leaf, Literally, Matches, PrefixOf, Present, digest_text
from streamconform_dev.judges.answers import ALL, AnsweredTrial

COMPLETE = {"status": Literally("complete")}
NONE: dict[str, Any] = {"status": "complete", "content": []}


def block(type_: str, **fields: Leaf) -> ExpectedBlock:
    """Return an expected block; the client runs a call."""
    executor = {"executor": Literally("client")} if type_ == "tool_call" else {}
    return ExpectedBlock(type_, executor | fields)


def text(value: str, **more: Any) -> dict[str, Any]:
    """Return a received text."""
    return {"type": "text", "text": value, **more}


def answer(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a complete outcome."""
    return {"status": "complete", "content": [*content], "stop": {"reason": "stop"}, **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    """Return a received call."""
    return {"type": "tool_call", "id": name, "name": name, "arguments": {}, **more}


HALVES = Digest((digest_text("It is ").parts[0], digest_text("26 degrees.").parts[0]))
DEGREES, OBJECT = Matches(re.compile("deg")), Matches(re.compile(r"^\{"))
MANY = int(MAX_PAIRS**0.5) + 1
"""So many blocks on both sides are more pairs than a judge aligns."""
CALLS = tuple(block("tool_call", name=Literally(f"call-{i}"), arguments=Literally({})) for i in range(MANY))
EACH = [call(f"call-{i}") for i in range(MANY)]

MADE: tuple[tuple[str, Expectation, Sequence[Any]], ...] = (
    (
        "digest",
        Expectation((block("text", text=HALVES),), COMPLETE),
        (
            answer(text("It is 26 degrees.")),
            answer(text("It is 27 degrees.")),
            answer(text("It is 26 degrees")),
            answer(text("It is "), text("26 degrees.")),
            answer(),
        ),
    ),
    (
        "digest-and-text",
        Expectation(
            (
                block("text", text=HALVES),
                block("text", text=Literally(" \N{SUN} Ü")),
                block("text", text=HALVES),
            ),
            COMPLETE,
        ),
        (
            answer(text("It is 26 degrees. \N{SUN} ÜIt is 26 degrees.")),
            answer(text("It is 26 degrees. \N{SUN} UIt is 26 degrees.")),
        ),
    ),
    (
        "digest-of-arguments",
        Expectation(
            (block("tool_call", name=Literally("f"), arguments=digest_text('{"a":[1,2],"b":"Ü"}')),), COMPLETE
        ),
        (
            answer(call("f", arguments={"b": "Ü", "a": [1.0, 2]})),
            answer(call("f", arguments={"b": "Ü", "a": [1.5, 2]})),
            answer(call("f", arguments=None)),
        ),
    ),
    (
        "digest-of-a-thought",
        Expectation((block("thinking", text=HALVES), block("thinking", text=Literally("x"))), COMPLETE),
        (
            answer(*({"type": "thinking", "text": piece} for piece in ("It is ", "26 ", "degrees.", "x"))),
            answer(*({"type": "thinking", "text": piece} for piece in ("It is 26 degrees.", "x"))),
        ),
    ),
    (
        "matchers",
        Expectation(
            (
                block("text", text=PrefixOf("It is 26 degrees.")),
                block("text", text=DEGREES),
                block("tool_call", name=Present(present=True), id=Present(present=False)),
                block("tool_call", name=AnyOf(("f", "g"), None, ("f",)), arguments_text=OBJECT),
            ),
            {"status": AnyOf(("complete", "error"), None, ("complete",)), "model": Matches(re.compile("^m"))},
        ),
        (
            answer(text("It is"), call("f", id=None), call("f", arguments_text="{}"), model="m1"),
            answer(text("It is"), call("f", id=None), call("g", arguments_text="[]"), model="x"),
            answer(call("h"), call("h", arguments_text=None), model=None),
            {**answer(text("It is"), call("f", id=None), call("f")), "status": "error"},
        ),
    ),
    (
        "numbers",
        Expectation(
            (block("tool_call", name=Literally("f"), arguments=Literally([2**53 - 1, 0.1, 1e22, -1.5e-7])),),
            COMPLETE,
        ),
        (
            # Read without rounding: a digit more or less is another number.
            answer(call("f", arguments=[float(2**53 - 1), 0.1, 10**22, -1.5e-07])),
            answer(call("f", arguments=[2**53, 0.1, 1e22, -1.5e-7])),
            answer(call("f", arguments=[2**53 - 1, 0.1000000000000001, 1e22, -1.5e-7])),
        ),
    ),
    (
        "refusals",
        Expectation(
            (block("refusal", text=Literally("I ")), block("refusal", text=Literally("can't."))), COMPLETE
        ),
        (
            answer({"type": "refusal", "text": "I can't."}),
            answer({"type": "refusal", "text": "I"}, {"type": "refusal", "text": " can't."}),
            answer({"type": "refusal", "text": ""}),
        ),
    ),
    (
        "phases-and-signatures",
        Expectation(
            (
                block("text", text=Literally("a"), phase=Literally("commentary"), signature=Literally("s")),
                block("text", text=Literally("b"), phase=Literally("commentary"), signature=Literally(None)),
                block("text", text=Literally("c"), phase=Literally("final_answer"), signature=Literally("t")),
                block(
                    "text",
                    text=Matches(re.compile("d")),
                    phase=Literally("final_answer"),
                    signature=Literally(""),
                ),
            ),
            COMPLETE,
        ),
        (
            answer(
                text("a", phase="commentary", signature="s"),
                text("b", phase="commentary", signature=""),
                text("c", phase="final_answer", signature="t"),
                text("d", phase="final_answer", signature=None),
            ),
            answer(text("abcd")),
            answer(text("ab", phase="commentary"), text("cd", phase="final_answer")),
            answer(text("a", signature="s"), text("bc", signature="t"), text("d", signature="u")),
        ),
    ),
    (
        "echo",
        Expectation(
            (
                block("tool_call", name=Literally("f"), echo=Literally({"namespace": "weather"})),
                block("text", text=Literally("x"), echo=Literally({"a": 1})),
                block("text", text=Literally("y"), echo=Present(present=True)),
            ),
            COMPLETE | {"echo": Literally({"kept": [1]})},
        ),
        (
            answer(
                call("f", echo={"namespace": "weather", "more": 1}),
                text("xy", echo={"a": 1}),
                echo={"kept": [1.0], "x": 2},
            ),
            answer(call("f", echo={"namespace": "x"}), text("x", echo=None), text("y", echo={}), echo={}),
            answer(call("f", echo=None), text("xy"), echo=None),
        ),
    ),
    (
        "no-usage",
        Expectation(
            (), COMPLETE | {"usage": Literally(None), "cost": Literally(None), "error": Literally(None)}
        ),
        (
            answer(usage={"input": 1}, cost={"total": "1"}, error={"message": "x"}),
            answer(usage={"input": None}, cost={"total": None}, error={"message": None}),
            answer(usage={}, cost={}, error={}),
            answer(usage=None, cost=None, error=None),
        ),
    ),
    (
        "counts",
        Expectation((), COMPLETE | {"usage.input": Present(present=True), "usage.cache_read": Literally(3)}),
        (
            answer(usage={"input": 5, "cache_read": 3}),
            answer(usage={"input": 5}),
            answer(usage={"input": None, "output": 1}),
        ),
    ),
    (
        "many-calls",
        Expectation(CALLS, COMPLETE),
        (answer(*EACH), answer(*EACH, text("x")), answer(text("x"), *EACH)),
    ),
)
"""The name of a case, what it expects, and outcomes."""


def make_cases(base: Case) -> Iterator[tuple[Case, tuple[AnsweredTrial, ...]]]:
    """Yield the cases for the API of `base`, which lends its stream, each with answers to one trial."""
    for name, expect, outcomes in MADE:
        case = replace(base, id=f"{base.api}/made/{name}", expect=expect)
        trial = f"{case.id}@as-is"
        without = ALL - {"cache_usage", "signatures"}
        yield (
            case,
            tuple(
                AnsweredTrial(trial, tuple(sorted(claims)), outcome)
                for outcome in outcomes
                for claims in (ALL, without)
            ),
        )
