"""Each mutant has its bug, shows it, and fails only the checks that it lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import streamconform_reference.mutants as package
from streamconform_reference import adapter as reference
from streamconform_reference.mutants import MUTANTS, load

from . import chunkings
from .exchange import assert_event_rules, decode
from .samples import CALLS, SAMPLES

# What only some delivery or case of the suite brings about, and no stream here.
OFTEN_IDLE = (
    "content.complete_calls",
    "invariant.**",
    "invariant.event-schema",
    "invariant.outcome-schema",
    "invariant.every-block-told",
    "invariant.streaming",
    "error",
    "error.**",
    "error.message",
    "model",
    "response_id",
    ":stop",
)

# The suite compares arguments of a call that is said to be complete; here they are what they are.
IDLE = {
    ("truncated-call-executed", "**:content.*.tool_call.arguments"),
    # what comes behind an error is read by a parser that skips the error
    ("error-record-ignored", "**:usage.**"),
    ("error-record-ignored", "**:cost.**"),
    ("error-record-ignored", "**:content.**"),
}
TOPICS = {"count_tokens": "tokens"}


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves by their path as a spec writes it; arguments and raw data are leaves."""
    if isinstance(value, dict):
        inner = "" if "type" not in value or not path.startswith("content") else value["type"] + "."
        found: dict[str, Any] = {}
        for key, child in value.items():
            name = f"{path}.{inner}{key}".lstrip(".")
            found |= {name: child} if key in ("arguments", "data") else leaves(child, name)
        return found
    if isinstance(value, list):
        found = {f"{path}.length": len(value)}
        for index, child in enumerate(value):
            found |= leaves(child, f"{path}.{index}")
        return found
    return {path: value}


def trials(api: str) -> Iterator[tuple[str, list[bytes]]]:
    for name, body in SAMPLES[api].items():
        case = f"{api}/sample/{name}"
        yield f"{case}@whole", [body]
        yield f"{case}@bytewise", chunkings.bytewise(body)
        for cut in range(40, len(body), 90):
            yield f"{case}@cut-inside-json.{cut}", [body[:cut]]
        for number, end in enumerate(re.finditer(rb"\n\n", body)):
            yield f"{case}@cut-after-frame.{number}", [body[: end.start()]]


@cache
def right_answers(api: str) -> list[tuple[str, list[bytes], dict[str, Any]]]:
    return [(trial, chunks, leaves(decode(chunks, api=api).outcome)) for trial, chunks in trials(api)]


STREAMS = sorted(name for name in MUTANTS if "build_request" not in vars(load(name)))
"""The mutants of requests have a test of their own."""


def failing_checks(name: str) -> set[str]:
    adapter = load(name)
    failing = set()
    for api in adapter.apis:
        for trial, chunks, right in right_answers(api):
            wrong = leaves(decode(chunks, adapter=adapter, api=api).outcome)
            paths = (path for path in right | wrong if right.get(path) != wrong.get(path))
            failing |= {f"{trial}:{path}" for path in paths}
    for function, inputs in CALLS.items():
        broken, right_function = getattr(adapter, function, None), getattr(reference, function)
        failing |= {
            f"common/{TOPICS.get(function, function)}/{name}:output"
            for name, given in inputs.items()
            if broken and broken(None, given) != right_function(None, given)
        }
    return failing


def matches(glob: str, check: str) -> bool:
    """Whether the glob matches by components: `*` is one of them, `**` any number."""
    parts = re.split(r"[/@:.]", check)

    def match(globs: list[str], rest: list[str]) -> bool:
        if not globs:
            return not rest
        if globs[0] == "**":
            return any(match(globs[1:], rest[skip:]) for skip in range(len(rest) + 1))
        return bool(rest) and globs[0] in ("*", rest[0]) and match(globs[1:], rest[1:])

    return match(re.split(r"[/@:.]", glob), parts)


@pytest.mark.parametrize("name", STREAMS)
def test_a_mutant_fails_some_checks_and_only_those_it_names(name: str) -> None:
    failing = failing_checks(name)
    assert failing
    globs = MUTANTS[name].fails
    assert {check for check in failing if not any(matches(glob, check) for glob in globs)} == set()
    for glob in globs:
        if not glob.endswith(OFTEN_IDLE) and (name, glob) not in IDLE:
            assert any(matches(glob, check) for check in failing), f"{glob} matches nothing"


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_is_named_like_its_module_and_describes_itself(name: str) -> None:
    mutant = MUTANTS[name]
    adapter = load(name)
    assert adapter.info["name"] == f"mutant:{name}"
    assert set(adapter.apis) <= set(SAMPLES)
    assert import_module(f"{package.__name__}.{name.replace('-', '_')}").adapter is adapter
    assert mutant.bug.endswith(".")
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", issue) for issue in mutant.issues)


def test_every_module_is_in_the_table() -> None:
    modules = {path.stem for path in Path(*package.__path__).glob("[a-z]*.py")}
    assert modules == {name.replace("-", "_") for name in MUTANTS}


@pytest.mark.parametrize("name", STREAMS)
def test_a_mutant_still_keeps_the_event_rules(name: str) -> None:
    adapter = load(name)
    if name in ("arguments-repaired", "truncated-call-executed", "empty-arguments-dropped"):
        return  # they change what is told of a call, not when
    for api in adapter.apis:
        for _, chunks, _ in right_answers(api):
            assert_event_rules(decode(chunks, adapter=adapter, api=api))
