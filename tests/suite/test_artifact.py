"""The suite as one file per API: what a judge in another language reads is what the harness judges by."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from streamconform.apis import APIS, NAMES
from streamconform.judge.mentions import find_mention
from streamconform.model.capability import CALLED
from streamconform.model.case import (
    BehaviorCase,
    CallCase,
    Case,
    Counts,
    Expectation,
    ExpectedBlock,
    Partial,
    RoundTripCase,
)
from streamconform.model.leaf import AnyOf, Digest, Literally, Matches, PrefixOf, Present
from streamconform.model.request import (
    Alternative,
    Contains,
    Exactly,
    Fields,
    Items,
    JsonText,
    OneOf,
    RequestExpectation,
    SameAs,
)
from streamconform.model.trial import (
    DELIVERY_SETS,
    FAULT_SETS,
    SAMPLED,
    VARIANTS,
    RoundTrip,
    supported_inputs,
)
from streamconform.schemas import find_problems
from streamconform.suite.build import COMMON
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources
from streamconform_dev import artifact
from tests.bundled_suite import SOURCES, cases

FILES = (*NAMES, COMMON)
SAMPLE = 8
"""One of so many cases is compared, in every file: all of them would take a minute."""


@cache
def cases_of(name):
    """Return the cases of a file; scripts are in none, because only a server sees what they ask."""
    return tuple(
        case for case in cases() if (case.api or COMMON) == name and not isinstance(case, BehaviorCase)
    )[::SAMPLE]


@cache
def encoded(name):
    return artifact.encode_document(artifact.build_document(name, cases_of(name)))


def read(name):
    """Return a file's content as a reader in another language has it: parsed JSON, nothing else."""
    return json.loads(encoded(name))


def read_value(value):
    match value:
        case {"$integer": str(text)}:
            return int(text)
        case dict():
            return {key: read_value(item) for key, item in value.items()}
        case list():
            return [read_value(item) for item in value]
        case _:
            return value


def read_bytes(entry, name):
    if f"{name}_base64" in entry:
        return base64.b64decode(entry[f"{name}_base64"])
    return entry.get(name, "").encode()


def read_chunks(stream, trial):
    body = read_bytes(stream, "body")
    delivered = body[: trial.get("prefix", len(body))] + read_bytes(trial, "append")
    cuts = range(1, len(delivered)) if trial["cuts"] == "every" else trial["cuts"]
    edges = [0, *cuts, len(delivered)]
    return tuple(delivered[start:end] for start, end in pairwise(edges) if start < end)


def read_wanted(entry):
    why = entry.get("why")
    match next(iter(entry.keys() - {"why", "prefer"})), entry:
        case "equals", {"equals": value}:
            return Literally(read_value(value))
        case "matches", {"matches": pattern}:
            return Matches(re.compile(pattern), why)
        case "present", {"present": present}:
            return Present(present, why)
        case "any_of", {"any_of": values}:
            return AnyOf(tuple(read_value(values)), why, tuple(read_value(entry.get("prefer", []))))
        case "prefix_of", {"prefix_of": text}:
            return PrefixOf(text, why)
        case "digest", {"digest": parts}:
            return Digest(tuple(map(tuple, parts)))
        case "exactly", {"exactly": value}:
            return Exactly(read_value(value))
        case "json", {"json": value}:
            return JsonText(read_value(value))
        case "same_as", {"same_as": path}:
            return SameAs(path)
        case "contains", {"contains": text}:
            return Contains(text)
        case "members", {"members": members}:
            return Fields({name: read_wanted(member) for name, member in members.items()})
        case "items", {"items": items}:
            return Items(tuple(map(read_wanted, items)))
        case "one_of", {"one_of": options}:
            return OneOf(tuple(map(read_wanted, options)), why)


def read_expectation(entry):
    content = entry.get("content")
    blocks = content and [ExpectedBlock(block["type"], read_leaves(block["fields"])) for block in content]
    partial = Partial(**entry["partial"]) if "partial" in entry else None
    return Expectation(None if content is None else tuple(blocks), read_leaves(entry["fields"]), partial)


def read_leaves(entry):
    return {path: read_wanted(leaf) for path, leaf in entry.items()}


def read_request(entry):
    return RequestExpectation(
        must=read_wanted(entry["must"]),
        should=read_wanted(entry["should"]),
        may=read_wanted(entry["may"]),
        must_not=tuple(entry["must_not"]),
        headers=read_leaves(entry["headers"]),
        path=read_path(entry),
        when=tuple(
            Alternative(
                read_leaves(each["if"]["headers"]), read_path(each["if"]), read_request(each["expect"])
            )
            for each in entry.get("when", ())
        ),
    )


def read_path(entry):
    return read_wanted(entry["path"]) if "path" in entry else None


def expand_all(case):
    return [*expand((case,), DELIVERY_SETS["full"], "http", 0, FAULT_SETS["full"])]


def test_the_sample_has_every_kind_of_case():
    kinds = {entry["kind"] for name in FILES for entry in read(name)["cases"]}
    assert kinds == {"stream", "document", "round_trip", *CALLED}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_has_the_cases_of_its_api_and_matches_the_schema(name):
    document = read(name)
    assert find_problems("suite.v1", document) == ()
    assert document.get("ordered_content") == (APIS[name].ordered_content if name in APIS else None)
    assert [entry["id"] for entry in document["cases"]] == [case.id for case in cases_of(name)]
    for entry, case in zip(document["cases"], cases_of(name), strict=True):
        assert (SOURCES.specs / entry["spec"]).samefile(case.path)
        assert (entry["line"], entry["level"]) == (case.line, case.level)
        assert set(entry["tags"]) == case.tags


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_trials_read_from_a_file_are_those_expanded_from_the_specs(name):
    for entry, case in zip(read(name)["cases"], cases_of(name), strict=True):
        trials = [] if isinstance(case, CallCase) else expand_all(case)
        for got, trial in zip(entry.get("trials", ()), trials, strict=True):
            assert (got["name"], got["level"]) == (trial.delivery, trial.level)
            assert set(got["inputs"]) == supported_inputs(trial)
            if isinstance(trial, RoundTrip):
                kept = zip(entry["answers"], got["answers"], trial.answers, strict=True)
                for answer, delivery, expected in kept:
                    assert read_chunks(answer["stream"], delivery) == expected.chunks, trial.id
            else:
                assert read_chunks(entry["stream"], got) == trial.chunks, trial.id
                assert read_expectation(got.get("expect", entry["expect"])) == trial.expect, trial.id
                mentions = got.get("mentions", entry["mentions"])
                assert all(find_mention(trial, text) == place for place, text in enumerate(mentions))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_expectations_read_from_a_file_are_those_of_the_specs(name):
    for entry, case in zip(read(name)["cases"], cases_of(name), strict=True):
        match case:
            case Case():
                assert read_expectation(entry["expect"]) == case.expect
                assert read_value(entry["stream"]["request"]["body"]) == case.cassette.request.body
            case RoundTripCase():
                assert tuple(map(read_request, entry["requests"])) == case.requests
                expected = [read_expectation(answer["expect"]) for answer in entry["answers"]]
                assert expected == [answer.expect for answer in case.answers]
            case CallCase(expect=RequestExpectation()):
                assert read_request(entry["expect"]) == case.expect
            case CallCase(expect=Counts(order)):
                assert entry["expect"] == {"counts": order}
            case CallCase():
                assert read_wanted(entry["expect"]) == case.expect
                assert read_value(entry["input"]) == case.input


@pytest.mark.slow
@pytest.mark.parametrize("which", DELIVERY_SETS)
def test_the_set_of_a_trial_selects_what_a_run_selects(which):
    sampled = SAMPLED if which == "standard" else ()
    selected = expand(cases_of("cohere-chat"), DELIVERY_SETS[which], "http", 0, FAULT_SETS[which], sampled)
    sets = [*DELIVERY_SETS][: [*DELIVERY_SETS].index(which) + 1]
    listed = {
        f"{entry['id']}@{trial['name']}"
        for entry in read("cohere-chat")["cases"]
        for trial in entry.get("trials", ())
        if (trial["name"] in VARIANTS if which == "variants" else trial["set"] in sets)
    }
    assert listed == {trial.id for trial in selected if trial.delivery is not None}


def test_a_file_written_twice_has_the_same_bytes_without_date_and_path(tmp_path):
    specs = tmp_path / "specs"
    for folder in (COMMON, "cohere-chat"):
        (specs / folder).mkdir(parents=True)
    for path in ("common/heal.yaml", "cohere-chat/text.yaml"):
        (specs / path).write_bytes((SOURCES.specs / path).read_bytes())
    first, second = (
        [
            artifact.write_suite(api, cases, tmp_path / name)
            for api, cases in artifact.group_cases(Sources(specs, SOURCES.cassettes))
        ]
        for name in ("a", "b/c")
    )
    assert [path.name for path in first] == ["suite-cohere-chat.json.gz", "suite-common.json.gz"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert first[0].read_bytes()[3:10] == b"\0\0\0\0\0\x02\xff"  # no name, no date, no system
    assert str(tmp_path).encode() not in gzip.decompress(first[0].read_bytes())


def test_the_digest_is_that_of_the_file_without_it():
    data = encoded(COMMON)
    digest = json.loads(data)["digest"]
    member = f'"digest":"{digest}",'.encode()
    assert hashlib.sha256(data.replace(member, b"", 1)).hexdigest() == digest


def test_integers_that_floats_confuse_are_tagged_text():
    assert artifact.tag_integers([2**53 - 1, -(2**53), True]) == [
        2**53 - 1,
        {"$integer": "-9007199254740992"},
        True,
    ]
    assert Counter(map(type, map(read_value, artifact.tag_integers((2**53, 2**70))))) == {int: 2}


@pytest.mark.parametrize(
    "change",
    [
        {"suite": 2},
        {"extra": 1},
        {"cases": []},
        {"cases": [{"id": "common/heal/a", "kind": "heal"}]},
    ],
)
def test_the_schema_rejects_what_is_no_suite(change):
    assert find_problems("suite.v1", read(COMMON) | change)


def test_the_schema_rejects_an_unknown_member_of_a_case():
    document = read(COMMON)
    document["cases"][0]["extra"] = 1
    assert find_problems("suite.v1", document)
