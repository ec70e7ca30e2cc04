"""Comparing requests with expectations: matchers, forbidden paths, and equal spellings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from streamconform.apis import APIS
from streamconform.judge.request import UNIQUE_IDS_PATH, compare_request, list_check_paths
from streamconform.model.verdict import Check
from streamconform.suite.load import Sources, collect
from streamconform.suite.request_expectation import (
    find_errors,
    find_matcher_errors,
    parse,
    parse_value,
    serialize_value,
)

from ..for_each import for_each

ANTHROPIC, CHAT, GOOGLE = "anthropic-messages", "openai-chat", "google-generate"
CONVERSE, COHERE, OLLAMA = "bedrock-converse", "cohere-chat", "ollama-chat"
ROOT = Path(__file__).resolve().parents[2]
MINE = (ANTHROPIC, GOOGLE, CONVERSE, COHERE)
"""The APIs whose cases are loaded here, file by file."""
TEXT = {"type": "text", "text": "a"}


def expected(*given):
    """Return the checks of the expected values, leaving out the one that every request has."""
    return [check for check in compare_request(*given) if check.path != UNIQUE_IDS_PATH]


def failed(expect, body, *, api=OLLAMA, level="must", **beside):
    """Return the path and verdict of every check that does not pass."""
    checks = compare_request(api, parse(expect), {"body": body, **beside}, level)
    return [(check.path, check.verdict) for check in checks if check.verdict != "pass"]


HOLDS = [
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 1, "d": 2}, "e": 3}}),
    ({"a": {}}, {"a": {"anything": [1]}}),
    ({"a": []}, {"a": []}),
    ({"a": [{}, 2]}, {"a": [{"b": 1}, 2]}),
    ({"a": {"exactly": {}}}, {"a": {}}),
    ({"a": {"exactly": [1, {"b": None}]}}, {"a": [1, {"b": None}]}),
    ({"a": {"exactly": {"json": {"b": 1}}}}, {"a": {"json": {"b": 1}}}),
    ({"a": {"json": {"b": [1, 2], "c": None}}}, {"a": '{"c": null,"b":[1,2]}'}),
    ({"a": {"json": "text"}}, {"a": '"text"'}),
    ({"a": {"matches": "^[a-z]+$"}}, {"a": "abc"}),
    ({"a": {"present": True}}, {"a": 0}),
    ({"a": {"present": False}}, {}),
    ({"a": None}, {}),
    ({"a": {"any_of": [None, 1]}}, {}),
    ({"a": {"any_of": [{"b": [1]}, [2]]}}, {"a": [2]}),
    ({"a": {"one_of": [{"b": 1}, [{"json": {"c": 1}}]]}}, {"a": {"b": 1, "more": 2}}),
    ({"a": {"one_of": [{"b": 1}, [{"json": {"c": 1}}]], "why": "either"}}, {"a": ['{"c":1}']}),
    ({"a": {"prefix_of": "abcd", "why": "it may be cut"}}, {"a": "ab"}),
    ({"a": {"contains": "24 °C"}}, {"a": {"any": "24 °C, sunny"}}),
    ({"a": {"contains": "24 °C"}}, {"a": [1, {"any": [{"text": "24 °C"}]}]}),
    ({"a": [{"id": {"matches": "."}}, {"of": {"same_as": "a.0.id"}}]}, {"a": [{"id": "x"}, {"of": "x"}]}),
]
FAILS = [
    ({"a": 1}, {}, "body.a"),
    ({"a": 1}, {"a": "1"}, "body.a"),
    ({"a": 1}, {"a": True}, "body.a"),
    ({"a": {}}, {}, "body.a"),
    ({"a": {}}, {"a": "{}"}, "body.a"),
    ({"a": {"b": 1}}, {"a": [1]}, "body.a"),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, "body.a.b"),
    ({"a": [1]}, {"a": "1"}, "body.a"),
    ({"a": [1, 2]}, {"a": [1]}, "body.a.length"),
    ({"a": [1]}, {"a": [1, 2]}, "body.a.length"),
    ({"a": [1, 2]}, {"a": [2, 1]}, "body.a.0"),
    ({"a": {"exactly": {"b": 1}}}, {"a": {"b": 1, "c": 2}}, "body.a"),
    ({"a": {"exactly": None}}, {}, "body.a"),
    ({"a": {"json": {"b": 1}}}, {"a": {"b": 1}}, "body.a"),
    ({"a": {"json": {"b": 1}}}, {"a": '{"b":1,"c":2}'}, "body.a"),
    ({"a": {"json": {}}}, {"a": "[object Object]"}, "body.a"),
    ({"a": {"json": {}}}, {"a": "[" * 100_000}, "body.a"),
    ({"a": {"matches": "^b"}}, {"a": "ab"}, "body.a"),
    ({"a": {"matches": "1"}}, {"a": 1}, "body.a"),
    ({"a": {"present": True}}, {"a": None}, "body.a"),
    ({"a": {"any_of": [{"b": 1}]}}, {"a": {"b": 1, "c": 2}}, "body.a"),
    ({"a": {"one_of": [{"b": 1}, [{"json": {"c": 1}}]]}}, {"a": {"b": 2}}, "body.a"),
    ({"a": {"one_of": [{"b": 1}, [{"json": {"c": 1}}]]}}, {"a": ['{"c":2}']}, "body.a"),
    ({"a": {"one_of": [[1]]}}, {"a": [1, 2]}, "body.a"),
    ({"a": {"one_of": [1]}}, {}, "body.a"),
    ({"a": {"contains": "24 °C"}}, {"a": "24 °C"}, "body.a"),
    ({"a": {"contains": "24 °C"}}, {"a": {"24 °C": "19 °C", "b": [19, None]}}, "body.a"),
    ({"a": {"contains": "24 °C"}}, {}, "body.a"),
    ({"a": {"same_as": "b"}, "b": "x"}, {"a": "y", "b": "x"}, "body.a"),
    ({"a": {"same_as": "b.0"}}, {"a": None}, "body.a"),
    ({"a": {"same_as": "b"}}, {"b": None}, "body.a"),
]


@pytest.mark.parametrize(("must", "body"), HOLDS, ids=str)
def test_a_body_that_meets_the_expectation_passes(must, body):
    assert failed({"must": must}, body) == []


@pytest.mark.parametrize(("must", "body", "path"), FAILS, ids=lambda each: str(each)[:60])
def test_a_body_that_does_not_fails_at_the_path(must, body, path):
    assert (path, "fail") in failed({"must": must}, body)


@pytest.mark.parametrize(
    ("must", "body", "checks"),
    [
        ({"a": [{}]}, {"a": [{}]}, [Check(path="body.a.length", level="should", verdict="pass", got=1)]),
        (
            {"a": []},
            {"a": [1, 2]},
            [Check(path="body.a.length", level="should", verdict="warn", expected=0, got=2)],
        ),
        ({"a": 1}, {"a": 1.0}, [Check(path="body.a", level="should", verdict="pass", got=1.0)]),
        ({"a": None}, {}, [Check(path="body.a", level="should", verdict="pass")]),
        ({"a": 1}, {"a": 2}, [Check(path="body.a", level="should", verdict="warn", expected=1, got=2)]),
        (
            {"a": {"json": 1}},
            {"a": "2"},
            [Check(path="body.a", level="should", verdict="warn", expected={"json": 1}, got="2")],
        ),
        (
            {"a": {"json": 1}},
            {},
            [
                Check(
                    path="body.a",
                    level="should",
                    verdict="warn",
                    expected={"json": 1},
                    message="not sent",
                )
            ],
        ),
    ],
    ids=str,
)
def test_a_check_has_the_expected_value_and_that_of_the_body(must, body, checks):
    got = expected(OLLAMA, parse({"must": must}), {"body": body}, "should")
    assert [check for check in got if check.path != "body.a.0"] == checks


BY_VERSION = {
    "must": {"a": 1},
    "when": [
        {"if": {"headers": {"Version": "2023"}}, "must": {"b": 1}},
        {"if": {"headers": {"version": {"matches": "^2024"}}, "path": {"matches": "/v2$"}}},
        {"must_not": ["b"], "headers": {"key": "k"}},
    ],
}


@pytest.mark.parametrize(
    ("headers", "path", "body", "checks"),
    [
        ({"VERSION": "2023"}, "/v1", {"a": 1, "b": 1}, []),
        ({"version": "2023"}, "/v1", {"a": 1}, ["body.b"]),
        ({"version": "2024-1"}, "/v2", {"a": 1, "b": 2}, []),
        ({"version": "2024-1"}, "/v2", {"b": 2}, ["body.a"]),
        ({"version": "2024-1", "key": "k"}, "/v1", {"a": 1, "b": 2}, ["body.b"]),
        ({"version": "2025", "key": "k"}, "/v2", {"a": 1}, []),
        ({}, "/v1", {"a": 1, "b": 1}, ["body.b", "headers.key"]),
    ],
)
def test_the_first_alternative_that_fits_the_headers_and_the_path_is_expected_too(
    headers, path, body, checks
):
    assert failed(BY_VERSION, body, headers=headers, path=path) == [(check, "fail") for check in checks]


def test_a_forbidden_member_is_reported_with_the_header_that_forbids_it():
    condition = {"headers": {"version": "2025"}, "path": {"present": True}}
    expect = parse({"when": [{"if": condition, "must_not": ["b"], "must": {"c": 1}}]})
    sent = {"body": {"b": 1}, "headers": {"Version": "2025"}, "path": "/v1"}
    messages = {check.path: check.message for check in expected(OLLAMA, expect, sent, "must")}
    assert messages["body.b"] == "must not be sent: b (in a request with `version: 2025` and `/v1`)"
    assert messages["body.c"] == "not sent"


def test_the_checks_of_every_alternative_have_known_paths():
    paths = {*list_check_paths(parse(BY_VERSION))}
    assert {"body.a", "body.b", "headers.key"} <= paths


@pytest.mark.parametrize(
    ("when", "place", "message"),
    [
        ([{"must": {"a": 1}}, {"must": {"b": 1}}], ("when", 0), "it must be the last"),
        ([{"if": {"path": "/"}}], ("when", 0), "expects nothing"),
        ([{"must": {"a": {"matches": "("}}}], ("when", 0, "must", "a"), "regular expression"),
    ],
)
def test_an_alternative_that_cannot_apply_or_expects_nothing_is_a_mistake(when, place, message):
    (found,) = find_errors({"when": when})
    assert found[0] == place
    assert message in found[1]


BODY = {
    "messages": [
        {"role": "user", "content": "text"},
        {"role": "model", "parts": [{"text": "a"}, {"text": "b", "signature": None}]},
    ],
    "tools": [],
}
PATHS = [
    ("messages.*.parts.*.signature", "messages.1.parts.1.signature"),
    ("messages.*.role", "messages.0.role, messages.1.role"),
    ("messages.1.parts.0.text", "messages.1.parts.0.text"),
    ("*", "messages, tools"),
    ("tools", "tools"),
]
NOWHERE = [
    "message",
    "tools.*",
    "messages.2",
    "messages.*.parts.*.id",
    "messages.*.content.*",
    "*.role",
    "messages.-1",
]


@pytest.mark.parametrize(("path", "found"), PATHS)
def test_a_forbidden_path_is_reported_with_its_locations_even_if_null(path, found):
    (check,) = expected(OLLAMA, parse({"must_not": [path]}), {"body": BODY}, "must")
    first = BODY
    for step in found.partition(",")[0].split("."):
        first = first[int(step) if step.isdecimal() else step]
    assert check == Check(
        path=f"body.{path}",
        level="must",
        verdict="fail",
        expected={"present": False},
        got=first,
        message=f"must not be sent: {found}",
    )


@pytest.mark.parametrize("path", NOWHERE)
def test_a_forbidden_path_without_a_location_passes(path):
    (check,) = expected(OLLAMA, parse({"must_not": [path]}), {"body": BODY}, "should")
    assert check == Check(path=f"body.{path}", level="should", verdict="pass")


def test_a_message_names_five_places_at_most():
    body = {"a": [{"b": 1}] * 9}
    (check,) = expected(OLLAMA, parse({"must_not": ["a.*.b"]}), {"body": body}, "must")
    assert check.message == "must not be sent: " + ", ".join(f"a.{i}.b" for i in range(5))


def test_what_may_be_sent_is_compared_with_the_same_body():
    expect = parse({"may": {"b": {"same_as": "a"}}})
    assert [check.verdict for check in expected(OLLAMA, expect, {"body": {"a": 1, "b": 1}}, "must")] == [
        "pass"
    ]


def test_levels_are_those_of_the_case_and_may_never_fails():
    expect = {"must": {"a": 1}, "may": {"b": 1}, "must_not": ["c"]}
    for level, verdict in (("must", "fail"), ("should", "warn")):
        assert failed(expect, {"c": 1}, level=level)[::2] == [("body.a", verdict), ("body.c", verdict)]
    levels = [check.level for check in expected(OLLAMA, parse(expect), {"body": {}}, "must")]
    assert levels == ["must", "may", "must"]


ADDRESS = {"path": {"matches": ":stream"}, "headers": {"X-Version": "1"}}


def test_headers_match_in_any_case_and_the_path_is_checked():
    assert failed(ADDRESS, {}, path="/m:stream", headers={"x-VERSION": "1"}) == []
    assert failed(ADDRESS, {}, path="/m:whole", headers={"X-Version": "2"}) == [
        ("headers.x-version", "fail"),
        ("path", "fail"),
    ]


def test_absent_headers_and_an_absent_path_are_reported_as_not_sent():
    checks = expected(OLLAMA, parse(ADDRESS), {"body": {}}, "must")
    assert [(check.path, check.message) for check in checks] == [
        ("headers.x-version", "not sent"),
        ("path", "not sent"),
    ]


@pytest.mark.parametrize("got", [None, [], "text", {}, {"body": None}, {"body": "{}"}, {"body": []}], ids=str)
def test_a_value_that_is_not_a_request_is_one_failed_check(got):
    (check,) = expected(OLLAMA, parse({"must": {"a": 1}}), got, "should")
    body = got.get("body") if isinstance(got, dict) else None
    assert (check.path, check.level, check.verdict) == ("body", "should", "warn")
    assert (check.expected, check.got) == ({}, body)
    assert "returned no request" in check.message


@pytest.mark.parametrize("api", sorted(APIS))
def test_a_body_that_is_nested_without_end_is_one_failed_check(api):
    body = {"contents": []}
    for _ in range(2000):
        body = {"contents": [body]}
    (check,) = expected(api, parse({"must": {"a": 1}}), {"body": body}, "must")
    assert (check.path, check.verdict) == ("body", "fail")
    assert "nested deeper than" in check.message


@pytest.mark.parametrize(
    ("body", "verdict", "of_check"),
    [
        ({"a": 1, "b": 1.0}, "pass", {"got": 1.0}),
        ({"a": 1, "b": 2}, "warn", {"expected": 1, "got": 2}),
        ({"a": 1}, "warn", {"expected": 1, "message": "not sent"}),
        ({"b": 2}, "warn", {"got": 2, "message": "body.a, which it must equal, is missing"}),
        ({}, "warn", {"message": "body.a, which it must equal, is missing"}),
    ],
    ids=str,
)
def test_same_as_reports_the_value_at_the_other_path(body, verdict, of_check):
    (check,) = expected(OLLAMA, parse({"must": {"b": {"same_as": "a"}}}), {"body": body}, "should")
    assert check == Check(path="body.b", level="should", verdict=verdict, **of_check)


@pytest.mark.parametrize("given", [row for row, _ in HOLDS], ids=str)
def test_an_expected_value_is_serialized_as_it_was_written(given):
    def literal(value):
        if isinstance(value, dict) and "exactly" in value:
            return value["exactly"]
        if isinstance(value, dict):
            return {k: literal(v) for k, v in value.items() if k != "why"}
        return [literal(v) for v in value] if isinstance(value, list) else value

    assert serialize_value(parse_value(given)) == literal(given)


CALL = {"type": "tool_use", "id": "t1"}
RESULT = {"type": "tool_result", "tool_use_id": "t1"}
SCHEMA = {"type": "object", "properties": {"max_size": {"type": "string"}}}
EQUAL = [
    (ANTHROPIC, {"system": "a"}, {"system": [TEXT]}),
    (ANTHROPIC, {"stream": None, "max_tokens": 1}, {"max_tokens": 1}),
    (
        ANTHROPIC,
        {"output_format": {"type": "json_schema"}},
        {"output_config": {"format": {"type": "json_schema"}}},
    ),
    (ANTHROPIC, [{"role": "user", "content": "a"}], [{"role": "user", "content": [TEXT]}]),
    (
        ANTHROPIC,
        [{"role": "user", "content": [{**RESULT, "content": "a"}]}],
        [{"role": "user", "content": [{**RESULT, "content": [TEXT]}]}],
    ),
    (
        ANTHROPIC,
        [{"role": "user", "content": "a"}, {"role": "user", "content": [TEXT]}],
        [{"role": "user", "content": [TEXT, TEXT]}],
    ),
    (
        ANTHROPIC,
        [{"role": "user", "content": [RESULT]}, {"role": "user", "content": "a"}],
        [{"role": "user", "content": [RESULT, TEXT]}],
    ),
    (CHAT, [{"role": "developer", "content": "a"}], [{"role": "system", "content": [TEXT]}]),
    (CHAT, {"tool_choice": None}, {}),
    (
        "openai-responses",
        {"input": "a", "instructions": "b"},
        {
            "input": [
                {"role": "developer", "content": "b"},
                {"type": "message", "role": "user", "content": "a"},
            ]
        },
    ),
    (COHERE, [{"role": "tool", "content": "a"}], [{"role": "tool", "content": [TEXT]}]),
    (GOOGLE, {"system_instruction": {"role": "user", "parts": []}}, {"systemInstruction": {"parts": []}}),
    (GOOGLE, {"generation_config": {"max_output_tokens": 1}}, {"generationConfig": {"maxOutputTokens": 1}}),
    (
        GOOGLE,
        {"contents": [{"parts": [{"function_call": {"args": {"max_size": 1}}, "thought_signature": "s"}]}]},
        {"contents": [{"parts": [{"functionCall": {"args": {"max_size": 1}}, "thoughtSignature": "s"}]}]},
    ),
    (
        GOOGLE,
        {"tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": SCHEMA}]}]},
        {"tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}]},
    ),
    (
        GOOGLE,
        {
            "tools": [
                {"functionDeclarations": [{"parameters": {"type": "ARRAY", "items": {"type": "STRING"}}}]}
            ]
        },
        {
            "tools": [
                {"functionDeclarations": [{"parameters": {"type": "array", "items": {"type": "string"}}}]}
            ]
        },
    ),
    (
        GOOGLE,
        {"contents": [{"parts": [{"thought_signature": "a-_b", "inline_data": {"data": "-_=="}}]}]},
        {"contents": [{"parts": [{"thoughtSignature": "a+/b", "inlineData": {"data": "+/=="}}]}]},
    ),
    (CONVERSE, {"toolConfig": None}, {}),
    (OLLAMA, {"options": None}, {}),
]
UNEQUAL = [
    (ANTHROPIC, [{"role": "user", "content": "a"}], [{"role": "assistant", "content": "a"}]),
    (
        ANTHROPIC,
        [{"role": "user", "content": [RESULT]}, {"role": "user", "content": [RESULT]}],
        [{"role": "user", "content": [RESULT, RESULT]}],
    ),
    (
        ANTHROPIC,
        [{"role": "user", "content": "a"}, {"role": "user", "content": [RESULT]}],
        [{"role": "user", "content": [TEXT, RESULT]}],
    ),
    (
        ANTHROPIC,
        [{"role": "assistant", "content": [TEXT, CALL]}],
        [{"role": "assistant", "content": [CALL, TEXT]}],
    ),
    (ANTHROPIC, {"messages": [], "thinking": {"type": None}}, {"messages": [], "thinking": {}}),
    (
        GOOGLE,
        {"contents": [{"parts": [{"functionResponse": {"response": {"max_size": 1}}}]}]},
        {"contents": [{"parts": [{"functionResponse": {"response": {"maxSize": 1}}}]}]},
    ),
    (
        GOOGLE,
        {"tools": [{"functionDeclarations": [{"parameters": {"properties": {"a_b": {}}}}]}]},
        {"tools": [{"functionDeclarations": [{"parameters": {"properties": {"aB": {}}}}]}]},
    ),
    (
        GOOGLE,
        {"contents": [{"parts": [{"functionResponse": {"response": {"data": "a_b"}}}]}]},
        {"contents": [{"parts": [{"functionResponse": {"response": {"data": "a/b"}}}]}]},
    ),
    (
        GOOGLE,
        {"contents": [{"parts": [{"thoughtSignature": "skip_thought_signature_validator"}]}]},
        {"contents": [{"parts": [{"thoughtSignature": "skip/thought/signature/validator"}]}]},
    ),
    (GOOGLE, {"contents": [{"parts": [{"thoughtSignature": None}]}]}, {"contents": [{"parts": [{}]}]}),
    (CONVERSE, [{"role": "user", "content": "a"}], [{"role": "user", "content": [{"text": "a"}]}]),
    (CONVERSE, [{"role": "user"}, {"role": "user"}], [{"role": "user"}]),
    (
        COHERE,
        [{"role": "user", "content": "a"}, {"role": "user", "content": "a"}],
        [{"role": "user", "content": "a"}],
    ),
    (OLLAMA, [{"role": "user", "content": "a"}], [{"role": "user", "content": [TEXT]}]),
]


def canonical(api, body):
    return APIS[api].requests.canonical(body)


def bodies(*given):
    return [{"messages": value} if isinstance(value, list) else value for value in given]


@pytest.mark.parametrize(("api", "one", "other"), EQUAL, ids=lambda each: str(each)[:40])
def test_spellings_that_a_provider_takes_alike_are_one(api, one, other):
    first, second = bodies(one, other)
    assert canonical(api, first) == canonical(api, second)
    assert canonical(api, canonical(api, first)) == canonical(api, first)


@pytest.mark.parametrize(("api", "one", "other"), UNEQUAL, ids=lambda each: str(each)[:40])
def test_values_that_a_provider_distinguishes_stay_distinct(api, one, other):
    first, second = bodies(one, other)
    assert canonical(api, first) != canonical(api, second)


def test_bringing_a_body_to_one_form_leaves_it_as_it_was():
    for api, *given in EQUAL:
        for body in bodies(*given):
            before = json.dumps(body)
            canonical(api, body)
            assert json.dumps(body) == before


ODD = [
    None,
    0,
    "text",
    [],
    [None, 1, "text", [], {}],
    {},
    {"role": [], "content": 1},
    [{"content": [None, 1, {"type": []}]}],
]


@for_each("api", sorted(APIS))
@for_each("odd", ODD, ids=str)
def test_a_body_of_any_shape_has_a_form(api, odd):
    fields = ("messages", "contents", "input", "instructions", "system", "systemInstruction", "tools")
    body = dict.fromkeys(fields, odd)
    assert isinstance(canonical(api, body), dict)
    for inner in (
        {"functionDeclarations": odd},
        {"functionDeclarations": [odd]},
        {"content": odd, "role": "user"},
    ):
        assert isinstance(
            canonical(api, {"tools": [inner], "messages": [inner, inner], "input": [inner]}), dict
        )


def loaded(api):
    files = sorted((ROOT / "specs" / api).glob("requests*.yaml"))
    return collect(Sources(ROOT / "specs", ROOT / "cassettes"), files)


@pytest.mark.parametrize("api", MINE)
def test_cases_of_requests_load_and_cover_the_themes_of_their_api(api):
    found = loaded(api)
    assert found.problems == []
    assert {case.kind for case in found.cases} == {"request"}
    tags = Counter(tag for case in found.cases for tag in case.tags)
    assert tags["requests"] == len(found.cases)
    assert (
        min(tags[tag] for tag in ("tool_calls", "parallel", "thinking", "signatures", "images", "text")) >= 1
    )


@pytest.mark.parametrize("api", MINE)
def test_results_of_a_conversation_are_those_of_its_calls(api):
    for case in loaded(api).cases:
        calls = {
            block["id"]: block["name"]
            for message in case.input["messages"]
            if message["role"] == "assistant"
            for block in message["content"]
            if block["type"] == "tool_call"
        }
        for message in case.input["messages"]:
            for result in message.get("results", ()):
                assert calls[result["id"]] == result["name"], case.id


def test_an_empty_body_passes_only_if_every_field_may_be_omitted():
    passed = [
        case.id
        for api in MINE
        for case in loaded(api).cases
        if case.expect.must.fields
        and all(c.verdict == "pass" for c in compare_request(api, case.expect, {"body": {}}, "must"))
    ]
    assert passed == [
        f"{ANTHROPIC}/requests-thinking/off",
        f"{ANTHROPIC}/requests-thinking/off-where-it-always-thinks",
        f"{ANTHROPIC}/requests-tools/choice-auto",
        f"{ANTHROPIC}/requests/stream-off",
        f"{ANTHROPIC}/requests/no-system-prompt",
        f"{GOOGLE}/requests-tools/choice-auto",
        f"{COHERE}/requests-tools/choice-named",
        f"{COHERE}/requests/stream-off",
    ]


TWICE = [
    (ANTHROPIC, lambda *ids: {"messages": [{"content": [{"type": "tool_use", "id": id_} for id_ in ids]}]}),
    (
        CHAT,
        lambda *ids: {
            "messages": [
                {"role": "system"},
                *({"role": "assistant", "tool_calls": [{"id": id_}]} for id_ in ids),
                {"role": "tool", "tool_call_id": ids[0]},
            ]
        },
    ),
    (
        "openai-responses",
        lambda *ids: {
            "input": [
                *({"type": "function_call", "call_id": id_} for id_ in ids),
                {"type": "function_call_output", "call_id": ids[0]},
            ]
        },
    ),
    (GOOGLE, lambda *ids: {"contents": [{"parts": [{"functionCall": {"id": id_}} for id_ in ids]}]}),
    (CONVERSE, lambda *ids: {"messages": [{"content": [{"toolUse": {"toolUseId": id_}} for id_ in ids]}]}),
    (COHERE, lambda *ids: {"messages": [{"tool_calls": [{"id": id_} for id_ in ids]}]}),
    (OLLAMA, lambda *ids: {"messages": [{"tool_calls": [{"id": id_} for id_ in ids]}]}),
]


@pytest.mark.parametrize(("api", "body"), TWICE, ids=[row[0] for row in TWICE])
def test_no_two_calls_of_a_request_have_one_id_whatever_is_expected(api, body):
    assert failed({}, body("a", "b"), api=api) == []
    assert failed({}, body("a", "a"), api=api) == [(UNIQUE_IDS_PATH, "fail")]
    assert failed({}, body("a", "a"), api=api, level="should") == [(UNIQUE_IDS_PATH, "warn")]
    (check,) = compare_request(api, parse({}), {"body": body("x", "b", "x", "b")}, "must")
    assert check.message == "several calls or items have the id `x`, `b`"


def test_no_two_reasoning_items_of_a_request_have_one_id():
    def send(*ids):
        return {"input": [{"type": "reasoning", "id": id_, "summary": []} for id_ in ids]}

    assert failed({}, send("rs_1", "rs_2"), api="openai-responses") == []
    assert failed({}, send("rs_1", "rs_1"), api="openai-responses") == [(UNIQUE_IDS_PATH, "fail")]


@pytest.mark.parametrize("id_", [None, "", 7, ["a"], {"a": 1}])
def test_invalid_ids_are_not_compared(id_):
    for api, body in TWICE:
        assert failed({}, body(id_, id_), api=api) == []


WRONG = [
    ({"a": [{"b": {"matches": "("}}]}, ("a", 0, "b"), "expected a regular expression"),
    ({"a": {"matches": 1, "why": "so"}}, ("a",), "expected a regular expression"),
    ({"a": {"present": "yes"}}, ("a",), "expected true or false"),
    ({"a": {"any_of": []}}, ("a",), "expected a list of at least one value"),
    ({"a": {"one_of": 1}}, ("a",), "expected a list of at least one value"),
    ({"a": {"one_of": [1, [{"matches": "("}]]}}, ("a", "one_of", 1, 0), "expected a regular expression"),
    ({"a": {"any_of": [1, 2], "prefer": [1], "why": "so"}}, ("a",), "requests have no preferred values"),
    ({"a": {"prefer": [1], "any_of": [1, 2]}}, ("a",), "requests have no preferred values"),
    ({"a": {"prefix_of": 1}}, ("a",), "expected text"),
    ({"a": {"same_as": ["b"]}}, ("a",), "expected text"),
    ({"a": {"contains": 24}}, ("a",), "expected text"),
]


@pytest.mark.parametrize(("given", "at", "says"), WRONG, ids=str)
def test_an_invalid_matcher_is_reported_with_its_path(given, at, says):
    ((place, words),) = find_matcher_errors(given)
    assert place == at
    assert words.startswith(says)


LITERAL = [{"a": {name: {"matches": "("}}} for name in ("exactly", "json")]
"""Values that contain no matchers."""


@pytest.mark.parametrize("given", [*(row for row, _ in HOLDS), *LITERAL], ids=str)
def test_matchers_that_are_right_have_no_faults(given):
    assert list(find_matcher_errors(given)) == []


def test_lint_reports_the_line_of_an_invalid_matcher(tmp_path):
    (tmp_path / CHAT).mkdir()
    path = tmp_path / CHAT / "requests.yaml"
    path.write_text(BROKEN_MATCHER, "utf-8")
    (problem,) = collect(Sources(tmp_path, tmp_path), [path]).problems
    assert (problem.line, problem.message.partition(",")[0]) == (
        13,
        "`must.messages.0.content`: expected a regular expression (missing )",
    )


BROKEN_MATCHER = """\
spec: 1
kind: request
api: openai-chat
topic: requests
cases:
  - id: broken
    title: A pattern that is none
    conversation: {model: m, messages: [{role: user, content: hi}]}
    expect:
      must:
        model: m
        messages:
          - {role: user, content: {matches: "(", why: it is open}}
"""


ANTHROPIC_BLOCKS = (
    lambda id_: {"type": "tool_use", "id": id_},
    lambda id_: {"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": id_}]},
)
CONVERSE_BLOCKS = (
    lambda id_: {"toolUse": {"toolUseId": id_}},
    lambda id_: {"toolResult": {"toolUseId": id_, "content": [{"text": id_}]}},
)


@pytest.mark.parametrize(
    ("api", "blocks"),
    [(ANTHROPIC, ANTHROPIC_BLOCKS), ("bedrock-invoke", ANTHROPIC_BLOCKS), (CONVERSE, CONVERSE_BLOCKS)],
)
@pytest.mark.parametrize(
    ("ids", "reads"),
    [(["a", "b"], ["a", "b"]), (["b", "a"], ["a", "b"]), (["x", "b", "a"], ["a", "b", "x"]), (["b"], ["b"])],
)
def test_results_in_one_message_are_read_in_the_order_of_their_calls(api, blocks, ids, reads):
    call, result = blocks
    asked = {"role": "assistant", "content": [call("a"), call("b")]}

    def body(names):
        return {"messages": [asked, {"role": "user", "content": [*map(result, names), {"text": "Go."}]}]}

    assert APIS[api].requests.canonical(body(ids)) == body(reads)


@pytest.mark.parametrize("content", [None, [1], [{"toolUse": 1, "type": "tool_use"}]])
@pytest.mark.parametrize("api", [ANTHROPIC, CONVERSE])
def test_messages_without_results_stay_as_they_are(api, content):
    messages = [{"role": role, "content": content} for role in ("assistant", "user")]
    for sent in (messages, ["Go.", *messages]):
        assert APIS[api].requests.canonical({"messages": sent}) == {"messages": sent}
