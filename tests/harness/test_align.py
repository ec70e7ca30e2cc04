"""Normalizing content blocks, and pairing expected with received ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.judge import align
from streamconform.model.capability import CAPABILITIES
from streamconform.model.leaf import Digest, digest_text
from streamconform.model.outcome import Other, Refusal, Text, Thinking, ToolCall
from streamconform.suite.expectation import parse_block

ALL = CAPABILITIES
NONE = frozenset()
CALL = ToolCall(name="f")
PROVIDED = ToolCall(name="g", executor="provider")
CALL_ENTRY = {"tool_call": {"name": "f"}}
PROVIDED_ENTRY = {"tool_call": {"name": "g", "executor": "provider"}}


GOT = [
    ("neighbours-join", [Text("a"), Text("b")], ALL, [Text("ab")]),
    ("refusals-join", [Refusal("a"), Refusal("b")], ALL, [Refusal("ab")]),
    ("refusal-and-text-do-not", [Text("a"), Refusal("b")], ALL, [Text("a"), Refusal("b")]),
    ("a-call-keeps-texts-apart", [Text("a"), CALL, Text("b")], ALL, [Text("a"), CALL, Text("b")]),
    ("empty-text-is-dropped", [Text(""), CALL, Refusal("")], ALL, [CALL]),
    ("join-after-drop", [Text("a"), Other("image"), Text(""), Text("b")], ALL, [Text("ab")]),
    ("join-over-unclaimed", [Text("a"), CALL, Text("b")], NONE, [Text("ab")]),
    ("thinking-never-joins", [Thinking("a"), Thinking("b")], ALL, [Thinking("a"), Thinking("b")]),
    ("signed-stays", [Thinking("", "sig")], ALL, [Thinking("", "sig")]),
    ("unsigned-empty-goes", [Thinking("", None), Thinking("", "")], ALL, []),
    ("signature-unclaimed", [Thinking("", "sig")], ALL - {"signatures"}, []),
    ("redacted-stays", [Thinking("", None, redacted=True)], ALL - {"signatures"}, [Thinking("", None, True)]),
    ("thinking-unclaimed", [Thinking("a", "sig")], ALL - {"thinking"}, []),
    ("provider-unclaimed", [PROVIDED, CALL], ALL - {"provider_tools"}, [CALL]),
    ("client-unclaimed", [PROVIDED, CALL], ALL - {"tool_calls"}, [PROVIDED]),
    ("refusal-unclaimed", [Refusal("a"), Text("b")], NONE, [Text("b")]),
    ("other-is-dropped", [Other("image"), Other(None)], ALL, []),
]


UNSIGNED, SIGNED = ALL - {"signatures"}, Thinking("b", "sig")
ONE_THINKING_TEXT = [
    ("thoughts-join", [Thinking("a"), CALL, Thinking("b")], ALL, [Thinking("ab"), CALL]),
    ("a-signed-thought-does-not", [Thinking("a"), SIGNED], ALL, [Thinking("a"), SIGNED]),
    ("unless-signatures-are-unclaimed", [SIGNED, Thinking("a"), SIGNED], UNSIGNED, [Thinking("bab")]),
    (
        "nor-a-redacted-one",
        [Thinking("a"), Thinking("", "x", True)],
        ALL,
        [Thinking("a"), Thinking("", "x", True)],
    ),
]


@pytest.mark.parametrize(
    ("blocks", "claims", "kept"),
    [row[1:] for row in ONE_THINKING_TEXT],
    ids=[row[0] for row in ONE_THINKING_TEXT],
)
def test_unsigned_thoughts_are_joined_where_a_message_has_one_thinking_text(blocks, claims, kept):
    assert align.normalize_received(blocks, claims, None, ordered=False) == kept
    entries = [write_entry(block) for block in blocks]
    joined = align.normalize_expected(map(parse_block, entries), claims, ordered=False)
    assert [(block.type, block.fields.get("text")) for block in joined] == [
        (block.type, parse_block(write_entry(block)).fields.get("text")) for block in kept
    ]


def write_entry(block):
    """Return a thinking block or a call in the form used in specs."""
    if isinstance(block, ToolCall):
        return CALL_ENTRY
    return {"thinking": {"text": block.text, "signature": block.signature, "redacted": block.redacted}}


@pytest.mark.parametrize(("blocks", "claims", "kept"), [row[1:] for row in GOT], ids=[row[0] for row in GOT])
def test_blocks_got_are_dropped_and_joined(blocks, claims, kept):
    assert align.normalize_received(blocks, claims, None) == kept


JOINED = [
    ("one-phase", [Text("a", "final_answer"), Text("b", "final_answer")], Text("ab", "final_answer"), set()),
    ("two-phases", [Text("a", "commentary"), Text("b", "final_answer")], Text("ab"), {"phase"}),
    ("no-phase-at-the-end", [Text("a", "commentary"), Text("b")], Text("ab"), {"phase"}),
    ("absent-in-one", [Text("a", absent=frozenset({"citations"})), Text("b")], Text("ab"), {"citations"}),
    ("signed-at-the-end", [Text("a"), Text("b", signature="s")], Text("ab", signature="s"), set()),
    ("signed-at-the-start", [Text("a", signature="s"), Text("b")], Text("ab"), set()),
    ("signed-in-the-middle", [Text("a"), Text("b", signature="s"), Text("c")], Text("abc"), set()),
    (
        "citations-move-with-their-text",
        [
            Text("ab"),
            Text("cde", citations=({"source": "x", "start": 0, "end": 1},)),
            Text("f", citations=({"source": "y", "start": None, "end": 1}, {"source": "z"})),
        ],
        Text(
            "abcdef",
            citations=(
                {"source": "x", "start": 2, "end": 3},
                {"source": "y", "start": None, "end": 6},
                {"source": "z"},
            ),
        ),
        set(),
    ),
]


@pytest.mark.parametrize(
    ("blocks", "text", "absent"), [row[1:] for row in JOINED], ids=[row[0] for row in JOINED]
)
def test_joined_texts_have_the_fields_that_belong_to_the_whole(blocks, text, absent):
    assert align.normalize_received(blocks, ALL, None) == [text]
    (joined,) = align.normalize_received(blocks, ALL, None)
    assert joined.absent == absent


def test_other_blocks_are_kept_if_the_case_names_their_kind():
    expected = [parse_block({"other": {"kind": "image"}})]
    assert align.normalize_received([Other("image"), Other("audio")], ALL, expected) == [Other("image")]


EXPECTED = [
    ("neighbours-join", [{"text": "a"}, {"text": "b"}], ALL, [{"text": "ab"}]),
    ("empty-is-dropped", [{"text": ""}, {"refusal": ""}], ALL, []),
    ("join-over-unclaimed", [{"text": "a"}, {"thinking": "t"}, {"text": "b"}], NONE, [{"text": "ab"}]),
    (
        "thinking-never-joins",
        [{"thinking": "a"}, {"thinking": "b"}],
        ALL,
        [{"thinking": "a"}, {"thinking": "b"}],
    ),
    ("empty-thinking", [{"thinking": ""}], ALL, []),
    (
        "signed",
        [{"thinking": {"text": "", "signature": "s"}}],
        ALL,
        [{"thinking": {"text": "", "signature": "s"}}],
    ),
    ("signed-unclaimed", [{"thinking": {"text": "", "signature": "s"}}], ALL - {"signatures"}, []),
    ("signature-null", [{"thinking": {"text": "", "signature": None}}], ALL, []),
    (
        "redacted",
        [{"thinking": {"text": "", "redacted": True}}],
        ALL,
        [{"thinking": {"text": "", "redacted": True}}],
    ),
    ("signature-empty", [{"thinking": {"text": "", "signature": ""}}], ALL, []),
    ("refusals-join", [{"refusal": "a"}, {"refusal": "b"}], ALL, [{"refusal": "ab"}]),
    ("refusal-unclaimed", [{"refusal": "a"}], NONE, []),
    ("other", [{"other": {"kind": "image"}}], NONE, [{"other": {"kind": "image"}}]),
    ("call-before-text", [CALL_ENTRY, {"text": "a"}], ALL, [CALL_ENTRY, {"text": "a"}]),
    ("one-matcher", [{"text": {"matches": "a"}}], ALL, [{"text": {"matches": "a"}}]),
    ("provider-claimed", [PROVIDED_ENTRY], frozenset({"provider_tools"}), [PROVIDED_ENTRY]),
    ("provider", [PROVIDED_ENTRY], ALL - {"provider_tools"}, []),
    ("client", [{"tool_call": {"name": "g"}}], ALL - {"tool_calls"}, []),
]


@pytest.mark.parametrize(
    ("entries", "claims", "kept"), [row[1:] for row in EXPECTED], ids=[row[0] for row in EXPECTED]
)
def test_the_expected_side_is_treated_alike(entries, claims, kept):
    assert align.normalize_expected(map(parse_block, entries), claims) == [parse_block(each) for each in kept]


def test_texts_with_a_matcher_are_joined_to_a_text_that_is_not_judged():
    (joined,) = align.normalize_expected(map(parse_block, [{"text": "a"}, {"text": {"present": True}}]), ALL)
    assert joined.fields == {}


BOTH = ("phase", "signature")
COMMENTARY, FINAL = {"text": "a", "phase": "commentary"}, {"text": "b", "phase": "final_answer"}
A_SIGNED, B_SIGNED, EMPTY_SIGNED = ({"text": text, "signature": "s"} for text in ("a", "b", ""))
SEPARATED = [
    ("phases", [COMMENTARY, FINAL], BOTH, ALL, [COMMENTARY, FINAL]),
    ("phases-are-no-separator", [COMMENTARY, FINAL], ("signature",), ALL, [{"text": "ab"}]),
    (
        "one-phase",
        [COMMENTARY, {"text": "b", "phase": "commentary"}],
        BOTH,
        ALL,
        [{"text": "ab", "phase": "commentary"}],
    ),
    ("null-is-no-phase", [{"text": "a", "phase": None}, {"text": "b"}], BOTH, ALL, [{"text": "ab"}]),
    ("signed", [A_SIGNED, {"text": "b"}], BOTH, ALL, [A_SIGNED, {"text": "b"}]),
    ("signed-at-the-end", [{"text": "a"}, B_SIGNED], BOTH, ALL, [{"text": "ab", "signature": "s"}]),
    ("signatures-are-no-separator", [A_SIGNED, {"text": "b"}], ("phase",), ALL, [{"text": "ab"}]),
    ("empty-but-signed", [EMPTY_SIGNED], BOTH, ALL, [EMPTY_SIGNED]),
    ("empty-and-no-separator", [EMPTY_SIGNED], ("phase",), ALL, []),
    ("empty-and-unsigned", [{"text": "", "signature": None}], BOTH, ALL, []),
    (
        "citations",
        [{"text": "ab"}, {"text": "c", "citations": [{"start": 0, "end": 1}]}],
        BOTH,
        ALL,
        [{"text": "abc", "citations": [{"start": 2, "end": 3}]}],
    ),
    (
        "three",
        [{"text": "a", "citations": [{"start": 0}]}, {"text": "b"}, B_SIGNED],
        BOTH,
        ALL,
        [{"text": "abb", "citations": [{"start": 0}], "signature": "s"}],
    ),
]


@pytest.mark.parametrize(
    ("texts", "separators", "claims", "kept"),
    [row[1:] for row in SEPARATED],
    ids=[row[0] for row in SEPARATED],
)
def test_fields_that_separate_texts_keep_them_apart_on_both_sides(texts, separators, claims, kept):
    expected = align.normalize_expected(
        [parse_block({"text": text}) for text in texts], claims, separators=separators
    )
    assert [block.type for block in expected] == ["text"] * len(kept)
    names = {name for text in kept for name in text}
    assert [
        {name: leaf.value for name, leaf in block.fields.items() if name in names} for block in expected
    ] == kept
    received = align.normalize_received(
        [build_text(**text) for text in texts], claims, None, separators=separators
    )
    assert received == [build_text(**text) for text in kept]


def build_text(text, *, citations=(), **fields):
    return Text(text, citations=tuple(citations), **fields)


def test_different_phases_and_an_early_signature_are_no_fields_of_the_joined_text():
    entries = [{"text": {**COMMENTARY, "signature": "s"}}, {"text": {"text": "b"}}]
    (joined,) = align.normalize_expected(map(parse_block, entries), ALL)
    assert joined.fields == parse_block({"text": "ab"}).fields
    entries = [{"text": COMMENTARY}, {"text": FINAL}]
    (joined,) = align.normalize_expected(map(parse_block, entries), ALL)
    assert joined.fields == parse_block({"text": "ab"}).fields


@pytest.mark.parametrize(
    ("entry", "received", "claims", "separators"),
    [
        ({"text": {"text": "a", "phase": None, "signature": "s"}}, Text("a"), ALL, BOTH),
        ({"text": {"text": "a", "signature": "s"}}, Text("a"), ALL, ("signature",)),
        ({"text": {"text": "a", "signature": "s"}}, Text("a"), ALL - {"signatures"}, ()),
        ({"text": {"text": "a", "phase": "final_answer"}}, Text("a"), ALL - {"signatures"}, ("phase",)),
        ({"text": "a"}, Text("a"), ALL, ()),
        ({"text": COMMENTARY}, Text("a", absent=frozenset({"phase"})), ALL, ()),
        ({"thinking": {"text": "a", "signature": "s"}}, Text("a"), ALL, ()),
        ({"text": COMMENTARY}, Other("image"), ALL, ("phase",)),
    ],
    ids=range(8),
)
def test_texts_are_kept_apart_by_fields_that_the_case_names_and_every_text_exposes(
    entry, received, claims, separators
):
    assert align.find_separators([parse_block(entry)], [received], claims) == separators


def test_a_digest_and_a_text_are_joined_to_digests():
    digest = digest_text("bc")
    ((length, sha256),) = digest.parts
    entries = [{"text": "a"}, {"text": {"length": length, "sha256": sha256}}]
    (joined,) = align.normalize_expected(map(parse_block, entries), ALL)
    assert joined.fields == {"text": Digest((*digest_text("a").parts, *digest.parts))}


def call(name, **fields):
    return parse_block({"tool_call": {"name": name, **fields}}), ToolCall(name=name, **fields)


F, G, H = call("f"), call("g"), call("h")
F1, F2 = call("f", arguments=1), call("f", arguments=2)
FA, FB = call("f", id="a"), call("f", id="b")
G1, G2 = call("g", arguments=1), call("g", arguments=2)
X, Y = (parse_block({"text": "x"}), Text("x")), (parse_block({"text": "y"}), Text("y"))
T = (parse_block({"thinking": "t"}), Thinking("t"))

PAIRS = [
    ("the-same", [X, F], [X, F], [0, 1]),
    ("types-agree", [F, G], [G, F], [0, 1]),
    ("one-missing", [X, F, G], [X, G], [0, None, 1]),
    ("first-missing", [T, X, F], [X, F], [None, 0, 1]),
    ("one-extra", [X, G], [X, F, G], [0, 2]),
    ("swapped-types", [X, F], [F, X], [1, None]),
    ("all-missing", [F, G], [], [None, None]),
    ("nothing-expected", [], [X], []),
    ("names-decide", [G, X], [F, G, X], [1, 2]),
    ("other-type", [F], [X], [None]),
    ("arguments-decide", [F1, F2], [F2], [None, 0]),
    ("arguments-decide-before-another-type", [F1, F2], [F2, X], [None, 0]),
    ("a-call-is-no-other-one-that-it-equals", [F1, X, F2], [X, F2], [None, 0, 1]),
    ("an-equal-call-before-one-of-the-same-name", [F1], [F1, F2], [0]),
    ("a-moved-call-is-not-another-one", [F1, X, F2], [X, F1], [1, None, None]),
    ("each-is-paired-once", [X, Y], [F, X], [1, None]),
    ("two-pairs-beat-equal-arguments", [F1, G1], [H, G2, F1], [0, 1]),
    ("two-pairs-of-other-names-beat-equal-arguments", [F1, G1], [H, H, F1], [0, 1]),
    ("one-equal-call-is-worth-two-equal-names", [G1, F1], [H, F1, G2, F2], [2, 3]),
    ("one-id-is-worth-two-equal-names", [G, FA], [H, FA, G2, F2], [2, 3]),
    ("another-id-is-a-wrong-value", [X, FA], [call("f", id="z")], [None, 0]),
    ("a-call-with-the-id-of-another-is-that-one", [FA, X, FB], [FB, X], [None, None, 0]),
    ("an-equal-call-may-have-the-id-of-another", [F1, FB], [call("f", id="b", arguments=1)], [0, None]),
    ("an-equal-call-is-the-one-behind-a-text", [F1, X, F2], [F2, X], [None, None, 0]),
    ("of-two-like-calls-the-later-one", [F, X], [F, F], [1, None]),
    ("a-cut-call-is-not-a-malformed-one", [F1, X, call("f", arguments=None)], [F, X], [0, 1, None]),
    ("equal-calls-are-not-paired-with-others", [F1, F2, G1, G2], [H, H, F1, F2, G1], [2, 3, 4, None]),
]


@pytest.mark.parametrize(
    ("expected", "got", "pairs"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS]
)
def test_a_block_that_is_missing_or_extra_does_not_shift_the_others(expected, got, pairs):
    found = align.pair_blocks([entry[0] for entry in expected], [entry[1] for entry in got])
    assert found == pairs


LIMITS = [
    ("at-the-limit", 4, [X, F], [F, X], [1, None]),
    ("beyond-the-limit", 3, [X, F], [F, X], [None, None]),
    ("one-missing-beyond-the-limit", 1, [F, X], [F], [0, None]),
]


@pytest.mark.parametrize(
    ("limit", "expected", "got", "pairs"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS]
)
def test_too_many_pairs_are_not_searched(limit, expected, got, pairs, monkeypatch):
    monkeypatch.setattr(align, "MAX_PAIRS", limit)
    assert align.pair_blocks([entry[0] for entry in expected], [entry[1] for entry in got]) == pairs


def test_thousands_of_blocks_are_paired_by_position():
    expected = [F[0]] * 600
    got = [X[1], *[F[1]] * 599]
    found = align.pair_blocks(expected, got)
    assert found[0] is None
    assert found[1:] == list(range(1, 600))


@pytest.mark.parametrize(
    ("expected", "got", "positions", "order"),
    [
        ([F, G], [G, F], {"a": 5, "b": 2}, [1, 0]),
        ([F1, F2], [F2, F1], {"a": 5, "b": 2}, [1, 0]),
        ([F1, G1], [G1, F1], {"a": 5, "b": 0}, [1, 0]),
        ([F, G, H], [H, F], {"a": 5, "b": 2}, [1, 0]),
        ([F, G], [X, G, Y, F], {"b": 5, "d": 2}, [0, 3, 2, 1]),
        ([F1, G1], [F1, G1], {"a": 5, "b": 2}, [0, 1]),
        ([F, G], [F1, G1], {"a": 5, "b": 2}, [0, 1]),
        ([F, G], [G, F], {"a": 5}, [0, 1]),
        ([F, G], [G, F, H], {"a": 5, "b": 2, "c": 3}, [0, 1, 2]),
        ([F, G], [G, call("f", id="a")], {"a": 5}, [0, 1]),
        ([FA, FB], [call("f", id="b"), call("f", id="a")], {}, [1, 0]),
        ([FA, FA], [G1, F2], {"a": 5, "b": 2}, [1, 0]),
    ],
    ids=[
        "names",
        "arguments",
        "the-first-position",
        "one-missing",
        "between-texts",
        "the-expected-calls",
        "the-expected-calls-without-arguments",
        "an-id-that-is-not-in-the-stream",
        "more-calls-than-expected",
        "one-id-twice",
        "ids-in-the-case",
        "one-id-twice-in-the-case",
    ],
)
def test_calls_that_the_case_does_not_name_by_ids_are_in_the_order_of_the_stream(
    expected, got, positions, order
):
    blocks = [
        replace(block, id=block.id or "abcd"[i]) if isinstance(block, ToolCall) else block
        for i, (_, block) in enumerate(got)
    ]
    ordered, former = align.order_calls_by_id([entry[0] for entry in expected], blocks, positions.get)
    assert ordered == [blocks[i] for i in order]
    is_same = order == sorted(order)
    assert former == (() if is_same else tuple(block.id for block in blocks if isinstance(block, ToolCall)))


def test_calls_without_ids_stay_in_their_order():
    blocks = [ToolCall(name="g"), ToolCall(name="f", id="b")]
    assert align.order_calls_by_id([F[0], G[0]], blocks, {"b": 2}.get) == (blocks, ())


ABCD = {"thinking": "abcd"}


@pytest.mark.parametrize(
    ("entries", "pieces", "joined"),
    [
        ([ABCD], ["ab", "cd"], ["abcd"]),
        ([ABCD], ["ab", "", "cd"], ["abcd"]),
        ([ABCD], ["ab", "cde"], ["ab", "cde"]),
        ([ABCD], ["ax", "cd"], ["axcd"]),
        ([ABCD, {"thinking": "x"}], ["ab", "cd"], ["abcd"]),
        ([ABCD, {"thinking": "x"}], ["ab", "x"], ["ab", "x"]),
        ([ABCD, {"thinking": "x"}], ["ab", ""], ["ab", ""]),
        ([ABCD, ABCD], ["abcd", "ab"], ["abcd", "ab"]),
        ([{"thinking": {"text": {"any_of": ["a", "abcd"]}}}], ["ab", "cd"], ["abcd"]),
        ([{"thinking": {"text": {"any_of": ["a", "abcd"]}}}, ABCD], ["ab", "cd"], ["ab", "cd"]),
        ([{"thinking": {"text": {"matches": "."}}}], ["a", ""], ["a", ""]),
        ([], ["a", "b"], ["a", "b"]),
    ],
    ids=[
        "two",
        "three",
        "too-long",
        "wrong",
        "cut",
        "not-of-one",
        "empty",
        "complete",
        "either-text",
        "either-text-cut",
        "unknown-text",
        "unexpected",
    ],
)
def test_the_pieces_of_a_thought_are_joined(entries, pieces, joined):
    found = align.join_split_thoughts([*map(parse_block, entries)], [*map(Thinking, pieces)])
    assert found == [*map(Thinking, joined)]


def test_a_thought_is_joined_up_to_its_signature_and_after_other_blocks():
    expected = [parse_block({"thinking": {"text": "abcd", "signature": "s"}})]
    signed, text = Thinking("cd", "s"), Text("x")
    found = align.join_split_thoughts(expected, [text, Thinking("ab"), signed, Thinking("")])
    assert found == [text, Thinking("abcd", "s"), Thinking("")]
    redacted = Thinking("", "r", redacted=True)
    apart = [Thinking("ab"), redacted, Thinking("cd")]
    assert align.join_split_thoughts(expected, apart) == apart


SEARCH = {"name": "g", "id": "s1", "executor": "provider"}
ANY_NAME = {"name": {"present": True}, "executor": "provider"}


@pytest.mark.parametrize(
    ("named", "call", "is_named"),
    [
        (SEARCH, {"name": "h", "id": "s1"}, True),
        (SEARCH, {"name": "g", "id": "s2"}, True),
        (SEARCH, {"name": "h", "id": "s2"}, False),
        (SEARCH | {"id": None}, {"name": "h"}, False),
        (ANY_NAME, {"name": "h", "arguments": 1}, True),
        (ANY_NAME | {"arguments": 1}, {"name": "h", "arguments": 1}, True),
        (ANY_NAME | {"arguments": 1}, {"name": "h", "arguments": 2}, False),
        (ANY_NAME | {"id": "s1"}, {"name": "h", "id": "s2"}, False),
        (ANY_NAME | {"id": "s1"}, {"name": "h"}, True),
        (ANY_NAME | {"id": {"present": True}}, {"name": "h", "id": "s2"}, True),
    ],
    ids=range(10),
)
def test_a_case_names_a_call_by_its_id_or_its_name_or_its_arguments(named, call, is_named):
    block = ToolCall(**call, executor="provider")
    kept = align.normalize_received([block], ALL, [parse_block({"tool_call": named})])
    assert kept == ([block] if is_named else [])


HIDING = [Thinking("", "s", absent=frozenset(names)) for names in (["signature", "redacted"], ["signature"])]


@pytest.mark.parametrize(
    ("received", "hidden"),
    [
        (HIDING, {"signature"}),
        (HIDING[:1], {"signature", "redacted"}),
        ([*HIDING, Thinking("a")], set()),
        ([HIDING[1], Text("a")], {"signature"}),
        ([Text("a", absent=frozenset({"signature"}))], set()),
        ([], set()),
    ],
    ids=["all", "one", "not-all", "beside-a-text", "of-a-text", "nothing"],
)
def test_a_key_is_hidden_if_no_thought_shows_it(received, hidden):
    assert align.find_hidden(received) == hidden


MOVED = Thinking("", "sig")
SIGNED_CALL = parse_block({"tool_call": {"name": "f", "signature": "sig"}})


@pytest.mark.parametrize(
    ("expected", "received", "returned", "count"),
    [
        ([SIGNED_CALL], [MOVED, F[1]], [replace(F[1], signature="sig")], 1),
        ([F[0]], [MOVED, F[1]], [replace(F[1], signature="sig")], 1),
        ([F[0]], [MOVED, MOVED, F[1]], [replace(F[1], signature="sig")], 2),
        ([F[0]], [Thinking("", "other"), F[1]], [Thinking("", "other"), F[1]], 0),
        ([T[0], F[0]], [MOVED, F[1]], [MOVED, F[1]], 0),
        ([T[0], SIGNED_CALL], [MOVED, F[1]], [replace(F[1], signature="sig")], 1),
        ([F[0], X[0]], [MOVED, X[1], F[1]], [replace(X[1], signature="sig"), F[1]], 1),
        ([F[0]], [MOVED, Refusal("a"), F[1]], [Refusal("a"), F[1]], 1),
        ([F[0]], [MOVED, replace(F[1], signature="own")], [replace(F[1], signature="own")], 1),
        ([F[0]], [Thinking("a", "sig"), F[1]], [Thinking("a", "sig"), F[1]], 0),
        ([F[0]], [Thinking("", "sig", redacted=True), F[1]], [Thinking("", "sig", redacted=True), F[1]], 0),
        ([F[0]], [Thinking(""), F[1]], [Thinking(""), F[1]], 0),
    ],
    ids=[
        "named",
        "in-the-stream",
        "two",
        "unknown",
        "of-a-thought",
        "of-a-call-beside-a-thought",
        "of-a-text",
        "nothing-to-sign",
        "signed",
        "with-a-text",
        "redacted",
        "none",
    ],
)
def test_a_signature_that_is_reported_as_thinking_is_the_next_block_s(expected, received, returned, count):
    found = align.return_signatures(expected, received, {"sig": 3}.get)
    assert found == (returned, count)


def test_a_block_that_gets_its_signature_back_has_one():
    text = Text("x", absent=frozenset({"signature", "phase"}))
    (found,), _ = align.return_signatures([X[0]], [MOVED, text], {"sig": 3}.get)
    assert found.absent == {"phase"}
