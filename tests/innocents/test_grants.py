"""Each freedom is quoted from a document, and each sentence that grants a freedom has an innocent."""

from __future__ import annotations

import re
from functools import cache

import pytest

from streamconform.model.case import Case, RoundTripCase
from streamconform.model.leaf import AnyOf
from streamconform_innocents import INNOCENTS

from .. import bundled_suite
from ..for_each import for_each
from .sentences import (
    DOCUMENTS,
    Entry,
    is_permissive,
    iter_sentences,
    normalize,
    policy,
    read,
    split_sentences,
)

GRANTS = sorted({(grant.file, normalize(grant.sentence)) for i in INNOCENTS.values() for grant in i.grants})

NO_FREEDOM = {
    "docs/outcome.md": {
        "The last event must be `done` or `error`, and no earlier event may be either.": "forbids",
        "Without ids on both sides, calls are compared by position.": "forbids another order",
        "If the stream ends inside a frame after the stop reason, and the usage has not arrived,"
        " `complete` is a warning.": "the answer does not show where the stream was cut",
    },
    "docs/adapters.md": {
        "| `proxy:URL` | a proxy that translates between APIs, tested from both sides"
        " ([how](judging-proxies.md)) |": "describes a form of `--impl`",
        "`conform smoke` reports both mistakes, and prints the line that claims what the adapter returned.": (
            "about a command"
        ),
        "They convert what the libraries return by [`streamconform.normal`](frameworks.md), which your"
        " adapter may import too.": "about a module",
        "The attributes are optional.": "about the adapter's attributes; claims have innocents of their own",
        "It may be async.": "about functions, not about their values",
        '- `"digest_above":4096` in a `run` means a [huge stream](specs.md#sizes): a text of the outcome that'
        ' has more characters may be reported as `{"length":…,"sha256":"…"}`, its number of characters and'
        " the digest of its UTF-8, so that it fits into a line.": "both forms are compared by the digest",
        "If `run.request` has a `stream_id`, the answer is in the lane with that name; messages of other"
        " lanes may come between its messages.": "about the server",
        "- Answers may be sent in any order; `concurrency` is the number of runs that may be in flight.": (
            "about the protocol: an answer does not show when it was sent"
        ),
        "- NaN and Infinity may be printed in `arguments` and `usage`, where they count as failures of the"
        " library.": "they are failures",
        "On Linux, only the time counts in which the program and its children are idle, up to five times the"
        " limit in all, so a program may download (`npx`) or import a large library"
        " first.": "about the time before the first answer",
        '- Events may also be sent as they happen, in lines `{"op":"event","id":"7","event":{…}}`, instead of'
        " in `events`.": "about the protocol: both become the same list of events",
        '- `"skipped":{"reason":"…","issue":"…"}` instead of `outcome` skips a run that the library can\'t'
        " perform at all, for example because it lacks an option that the request uses; `issue`, a link, is"
        " optional.": "a skipped run has no answer",
        "Both separate the parser, which any client has, from the protocol part: `main` and `told` in Rust,"
        " `main` and `run` in C.": "describes two programs",
    },
}
"""Sentences that look permissive but grant an implementation's answer no freedom, each with the reason."""

DECIDED_BY_CASE = {
    "What healing may do": "an output of `heal` has one check, which lists every value that passes",
    "No arguments: an empty string, `null`, nothing at all": "names the level of a case: a `may` cannot fail",
    "A thought from another model or API": "about requests; the case lists what must not be sent",
    "Chunks of InvokeModel without bytes, or without type": "in the `must` case, the metrics equal the usage",
    "Event lines, the space after the colon, empty events": "about the server: the space is optional",
}
"""Decisions of the policy that grant freedoms only to values that no innocent can change, with the reason."""


@cache
def ids_with_alternatives() -> frozenset[str]:
    """Return the ids of the cases whose expectation lists alternatives, all of which an innocent gives."""
    found = set()
    for case in bundled_suite.cases():
        if isinstance(case, Case):
            leaves = [*case.expect.fields.values()]
            leaves += (leaf for block in case.expect.content or () for leaf in block.fields.values())
            if any(isinstance(leaf, AnyOf) for leaf in leaves):
                found.add(case.id)
        # The only check of a call, and each check of a request, is the comparison with the leaf itself.
        elif not isinstance(case, RoundTripCase) and re.search(r"(Any|One)Of\(", repr(case.expect)):
            found.add(case.id)
    return frozenset(found)


def is_cited(file: str, sentence: str) -> bool:
    return any(file == cited and (text in sentence or sentence in text) for cited, text in GRANTS)


@for_each(("file", "sentence"), GRANTS)
def test_a_freedom_is_quoted_exactly(file, sentence):
    assert sentence in read(file), f"{file} has no sentence {sentence!r}; correct grants.py or the document"


@pytest.mark.parametrize("file", DOCUMENTS[:2])
def test_each_sentence_that_grants_a_freedom_has_an_innocent(file):
    free = {sentence for sentence in iter_sentences(file) if is_permissive(sentence)}
    exempt = {normalize(sentence) for sentence in NO_FREEDOM[file]}
    assert [sentence for sentence in free if not is_cited(file, sentence) and sentence not in exempt] == [], (
        "add an innocent that uses the freedom, or list the sentence in NO_FREEDOM with the reason"
    )
    assert exempt - free == set(), "NO_FREEDOM lists a sentence that is not in the document any more"


@for_each("entry", policy(), ids=lambda entry: entry.title)
def test_each_decision_that_grants_a_freedom_has_an_innocent(entry: Entry):
    free = [
        sentence
        for sentence in split_sentences(entry.parts["Decided"])
        if is_permissive(sentence) and not is_cited("specs/POLICY.md", sentence)
    ]
    is_exempt = entry.title in DECIDED_BY_CASE
    # Without a `must`, a difference is at most a warning.
    if "must" not in entry.parts["Level"] or not free:
        assert not is_exempt, "DECIDED_BY_CASE lists a decision that needs no innocent"
        return
    alternatives = ids_with_alternatives() & set(entry.cases)
    assert is_exempt or alternatives, (
        f"no innocent uses {free}, and no case of the decision lists alternatives: add an innocent, or list"
        " the decision in DECIDED_BY_CASE with the reason"
    )
