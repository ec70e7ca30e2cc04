"""On the suite's recordings, the plain reader finds the values that cases expect."""

from __future__ import annotations

import ast
from pathlib import Path

from streamconform.judge.align import normalize_expected
from streamconform.judge.match import matches_leaf
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import ExpectedBlock
from streamconform.model.cassette import Recorded
from streamconform.model.leaf import Literally, list_values
from streamconform_dev.corpus import plain_reader
from streamconform_dev.corpus.plain_reader import read

from ..bundled_suite import streams
from ..for_each import for_each

FOLDER = Path(plain_reader.__file__).parent
CASES = [
    case
    for case in streams()
    if isinstance(case.cassette.provenance, Recorded)
    and case.expect.fields["status"] == Literally("complete")
]


def join_text(blocks):
    kept = normalize_expected(blocks, CAPABILITIES, ordered=False)
    return [(block.type, block.fields.get("text")) for block in kept if block.type != "tool_call"]


def test_it_imports_nothing_of_the_parser_or_the_harness():
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not any("streamconform" in alias.name for alias in node.names)
            if isinstance(node, ast.ImportFrom):
                name = node.module or ""
                assert "streamconform" not in name or name.startswith(plain_reader.__name__)


@for_each("case", CASES, ids=[case.id for case in CASES])
def test_it_finds_what_a_case_expects_of_our_own_recordings(case):
    reading = read(case.api, case.cassette.status, case.cassette.body)
    assert reading.status == "complete"
    assert matches_leaf(case.expect.fields["stop.reason"], reading.reason)
    for name in ("input", "output"):
        leaf = case.expect.fields.get(f"usage.{name}")
        count = (reading.usage or {}).get(name)
        assert leaf is None or count in (list_values(leaf) or (count,))
    expected = [block for block in case.expect.content or () if block.type == "tool_call"]
    calls = [block for block in reading.blocks if block.kind == "tool_call"]
    assert len(calls) == len(expected)
    for call, block in zip(calls, expected, strict=True):
        assert matches_leaf(block.fields.get("name", Literally(call.name)), call.name)
        assert matches_leaf(block.fields.get("arguments", Literally(call.arguments)), call.arguments)
    found = [
        ExpectedBlock(block.kind, {"text": Literally(block.text)})
        for block in reading.blocks
        if block.kind != "tool_call"
    ]
    for (kind, text), (expected_kind, leaf) in zip(
        join_text(found), join_text(case.expect.content or ()), strict=True
    ):
        assert kind == expected_kind
        assert leaf is None or matches_leaf(leaf, text.value)
