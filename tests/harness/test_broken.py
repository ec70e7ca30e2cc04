"""Adapters that break every rule: each gets its verdict, the run continues, and no process is left."""

from __future__ import annotations

from typing import get_args

import pytest

from streamconform.adapters.interface import ProtocolFaultKind
from streamconform_dev.broken.table import DOCUMENT, PARTS, TABLE, TIMEOUT, happens, page, row
from streamconform_dev.docs.blocks import describe_outdated

SHOWN = 280
"""The minimum number of characters of a reason that the terminal prints."""
MAX_SECONDS = TIMEOUT
"""The time limit of a run over HTTP, which is less than the timeout of a trial, so no client was waited for.
"""
PAGE = DOCUMENT.read_text("utf-8")


@pytest.mark.parametrize("broken", [pytest.param(each, id=each.id) for each in TABLE])
def test_a_broken_adapter_gets_its_verdict_and_the_run_continues(broken):
    seen = happens(broken)
    assert (seen.verdict, seen.kind) == (broken.verdict, broken.kind), seen.reads
    verdicts = ["pass"] * 4
    if broken.falls_on:
        verdicts[broken.falls_on - 1] = broken.verdict
    if broken.part != "start":
        assert list(seen.verdicts) == verdicts
    assert (seen.left, seen.sockets) == (frozenset(), frozenset())
    assert broken.part != "http" or seen.seconds < MAX_SECONDS
    assert seen.reads[:SHOWN] in seen.printed or seen.verdict == "fail"
    assert "\x1b" not in seen.printed
    assert len(seen.reads) <= 500
    assert row(broken, seen) in PAGE.splitlines(), describe_outdated("broken")


def test_the_page_has_exactly_one_row_per_adapter():
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.splitlines()}
    assert page({each.id: rows.get(each.does, "") for each in TABLE}) == PAGE, describe_outdated("broken")


def test_every_section_of_the_page_has_adapters_with_unique_ids():
    assert {each.part for each in TABLE} == set(PARTS)
    assert len({each.id for each in TABLE}) == len({each.does for each in TABLE}) == len(TABLE)


def test_every_kind_of_fault_is_shown_and_documented():
    kinds = set(get_args(ProtocolFaultKind)) - {"gave-up", "too-slow-to-judge"}
    assert kinds <= {each.kind for each in TABLE}
    guide = (DOCUMENT.parents[1] / "adapters.md").read_text("utf-8")
    assert [kind for kind in get_args(ProtocolFaultKind) if f"| `{kind}` |" not in guide] == []
