"""The bench measures what it claims to measure; times are never asserted."""

from __future__ import annotations

import gc
import json

import pytest

from streamconform_dev.bench import page, peers
from streamconform_dev.bench.floor import FLOORS
from streamconform_dev.bench.groups import GROUPS
from streamconform_dev.bench.measure import reference
from streamconform_dev.bench.memory import CHUNKS as CHUNKS_OF_BODIES
from streamconform_dev.bench.memory import HOSTILE, MemoryUse, read_body
from streamconform_dev.bench.plot import draw
from streamconform_dev.bench.streams import APIS, CHUNKINGS, deltas_of_call, deltas_of_text, stream
from streamconform_dev.bench.tables import KINDS, Scale, tables
from streamconform_peers.table import PEERS
from streamconform_reference import DECODERS

TINY = Scale(text=3, call=20, sizes=(400, 800), runs=1, suites=0, peers=0, body=0)
PIECES = {"text": deltas_of_text, "tool call": deltas_of_call}


def test_every_api_of_the_reference_is_measured():
    assert set(APIS) == set(FLOORS) == set(DECODERS)


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("api", APIS)
def test_the_reference_reads_every_delta_of_a_stream_and_the_floor_every_frame(api, kind, chunking):
    frames = stream(api, kind, deltas=20, size=20)
    chunks = CHUNKINGS[chunking](frames)
    events, outcome = reference(api, chunks)
    (block,) = (each.to_json() for each in outcome.content)
    assert outcome.status == "complete"
    whole = kind == "tool call" and APIS[api].whole_calls
    text = json.dumps(block["arguments"], separators=(",", ":"), ensure_ascii=False) if whole else None
    assert text or block.get("text", block.get("arguments_text")) == "".join(PIECES[kind](20, 20))
    assert sum("delta" in event.to_json()["type"] for event in events) == (0 if whole else 20)
    assert FLOORS[api](chunks) == len(frames)


def test_every_table_has_a_row_for_each_stream():
    gc.freeze()  # the bench collects garbage before every run, which is slow with objects left by other tests
    found = {section.heading: section.table for section in tables(TINY)}
    recordings = [found.pop(heading) for heading in tuple(found) if heading.startswith("Recordings")]
    assert all(table.count("\n") - 1 <= len(FLOORS) for table in recordings)
    assert [table.count("\n") - 1 for table in found.values()] == [
        len(APIS) * len(KINDS) * len(CHUNKINGS),
        len(APIS) * len(KINDS),
        len(GROUPS) + 1,
    ]
    assert all(api in table for table in found.values() for api in APIS)
    assert all(heading in page.page(found) for heading in found)


@pytest.mark.peers
def test_a_peer_is_measured_on_streams_that_it_reads_to_their_end(monkeypatch):
    monkeypatch.setattr(peers, "list_installed", lambda: [PEERS["anthropic"]])
    rows = [*peers.measure_peers(("text",), deltas=300, size=20, runs=1)]
    assert [(row.peer, row.api, row.spent is not None) for row in rows] == [
        ("anthropic", "anthropic-messages", True)
    ]
    assert "anthropic-messages" in page.peers(rows)


def test_the_plot_has_a_bar_for_each_name_and_escapes_it():
    drawn = draw([("slow <b>", 120.0), ("fast", 3.0)], "A title")
    assert drawn.index("fast") < drawn.index("slow &lt;b&gt;")
    assert drawn.count("<rect") == 2


@pytest.mark.parametrize("chunks", CHUNKS_OF_BODIES)
@pytest.mark.parametrize("body", HOSTILE)
def test_the_memory_of_a_body_has_a_row(body, chunks):
    grown = read_body(body, chunks, 1 << 13)
    assert grown >= 0
    assert f"| {body} | {chunks} | 0 MiB |" in page.memory([MemoryUse(body, chunks, 1 << 13, grown)])
