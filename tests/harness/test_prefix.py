"""A request begins with the one before it: the first difference is named, with its level."""

from __future__ import annotations

from typing import Any

import pytest

from streamconform.apis import APIS
from streamconform.judge.prefix import compare_prefix, list_prefix_paths

ANTHROPIC = "anthropic-messages"
TOOLS = [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b", "input_schema": {}}]
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
CALL = {"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1, "y": 2}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]}
USER = {"role": "user", "content": "Go."}
BEFORE: dict[str, Any] = {
    "system": "Be brief.",
    "tools": TOOLS,
    "messages": [USER, {"role": "assistant", "content": [THOUGHT, CALL]}, RESULT],
}
AFTER = BEFORE | {"messages": [*BEFORE["messages"], {"role": "assistant", "content": "Done."}, USER]}


def compare(later, *, api=ANTHROPIC, earlier=BEFORE, bound=False, kept=False, edited=False):
    form = APIS[api].requests
    checks = [*compare_prefix(form, earlier, later, "must", bound=bound, kept=kept, edited=edited)]
    assert {check.path for check in checks} <= {*list_prefix_paths(form)}
    return {check.path: (check.verdict, check.message) for check in checks if check.message}


def with_answer(*content):
    first, _, *others = AFTER["messages"]
    return AFTER | {"messages": [first, {"role": "assistant", "content": [*content]}, *others]}


@pytest.mark.parametrize("bound", [False, True])
def test_a_request_that_only_gained_messages_passes(bound):
    assert compare(AFTER, bound=bound) == {}


MARKED = {**USER, "content": [{"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}]}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (BEFORE | {"messages": [MARKED]}, AFTER),
        (BEFORE, AFTER | {"system": [{"type": "text", "text": "Be brief."}]}),
        (BEFORE, AFTER | {"tool_choice": {"type": "none"}, "temperature": 0}),
    ],
    ids=["a-mark-that-moves", "text-as-a-block", "other-options"],
)
def test_what_changes_no_prefix_passes(earlier, later):
    assert compare(later, earlier=earlier, bound=True) == {}


CHANGES = {
    "tools in another order": (
        AFTER | {"tools": TOOLS[::-1]},
        "prefix.tools",
        'tools is not as in the request before: tools.0, byte 17: "type":"object"},"name":"a"} became',
    ),
    "no tools": (AFTER | {"tools": []}, "prefix.tools", "became nothing"),
    "another system prompt": (
        AFTER | {"system": "Be brief. It is noon."},
        "prefix.system",
        "byte 18:",
    ),
    "other arguments": (with_answer(THOUGHT, CALL | {"input": {"x": 1}}), "prefix.messages", "messages.1, "),
    "one message less": (BEFORE | {"messages": BEFORE["messages"][1:]}, "prefix.messages", "messages.0, "),
    "arguments in another order": (
        with_answer(THOUGHT, CALL | {"input": {"y": 2, "x": 1}}),
        "bytes.messages",
        'messages.1, byte 133: x":1,"y":2}}]} became y":2,"x":1}}]}',
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_first_byte_that_differs_is_named(name):
    later, path, says = CHANGES[name]
    ((found, (verdict, message)),) = compare(later, bound=True).items()
    assert (found, verdict) == (path, "fail" if path.startswith("prefix") else "warn")
    assert says in message, message
    free = compare(later)
    assert free[path][0] == "warn"


@pytest.mark.parametrize("bound", [False, True])
def test_all_thinking_may_be_left_out(bound):
    found = compare(with_answer(CALL), bound=bound)
    assert found == {"prefix.thinking": ("may", "thinking was sent, but not again")}


def test_thinking_before_bound_thinking_may_not_be_left_out():
    trimmed = with_answer(CALL)
    again = {
        "role": "assistant",
        "content": [THOUGHT | {"signature": "t"}, {"type": "text", "text": "Done."}],
    }
    later = trimmed | {"messages": [*trimmed["messages"][:3], again, USER]}
    assert compare(later) == {"prefix.thinking": ("may", "thinking was sent, but not again")}
    assert {path: verdict for path, (verdict, _) in compare(later, bound=True).items()} == {
        "prefix.messages": "fail"
    }


def test_other_changes_fail_if_bound_thinking_is_left_out():
    found = compare(with_answer(CALL | {"input": {}}), bound=True)
    assert {path: verdict for path, (verdict, _) in found.items()} == {
        "prefix.messages": "fail",
        "prefix.thinking": "may",
    }


THOUGHTS = {
    "anthropic-messages": {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "a"}]},
    "bedrock-converse": {
        "role": "assistant",
        "content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": "a"}],
    },
    "cohere-chat": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "a"}],
    },
    "google-generate": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "a"}]},
    "ollama-chat": {"role": "assistant", "content": "a", "thinking": "Hm."},
    "openai-chat": {"role": "assistant", "content": "a", "reasoning_content": "Hm."},
}


@pytest.mark.parametrize("api", THOUGHTS)
def test_the_thinking_of_each_api_is_known(api):
    name = APIS[api].requests.messages
    message = THOUGHTS[api]
    list_name = "parts" if "parts" in message else "content"
    bare = {key: value for key, value in message.items() if key not in {"thinking", "reasoning_content"}}
    if isinstance(bare[list_name], list):
        bare[list_name] = bare[list_name][1:]
    earlier, later = ({name: [each]} for each in (message, bare))
    assert set(compare(later, api=api, earlier=earlier)) == {"prefix.thinking"}
    others = {name: [bare, message]}
    assert set(compare(others, api=api, earlier=earlier, bound=True)) == {f"prefix.{name}"}


def test_messages_that_the_server_keeps_are_not_compared():
    assert compare(BEFORE | {"messages": [USER]}, kept=True) == {}
    assert set(compare(BEFORE | {"tools": []}, kept=True)) == {"prefix.tools"}


def test_a_history_that_is_edited_on_purpose_is_only_recorded():
    found = compare(AFTER | {"messages": [USER]}, edited=True)
    assert [*found] == ["prefix.messages", "prefix.thinking"]
    assert {verdict for verdict, _ in found.values()} == {"may"}


@pytest.mark.parametrize(("earlier", "later"), [(None, AFTER), (BEFORE, "text")])
def test_without_two_bodies_there_is_nothing_to_compare(earlier, later):
    assert compare(later, earlier=earlier) == {}
