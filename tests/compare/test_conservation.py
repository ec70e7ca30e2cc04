"""Every recording that the inputs list is read, or listed as not read; anything else is a bug."""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace

import pytest

from streamconform.cli import _run_command
from streamconform.errors import LostError
from streamconform.run.exits import Exit
from streamconform_capture.compare import drive, examiner, inputs
from streamconform_capture.compare.inputs import read, read_partition, split_input
from streamconform_capture.compare.sample import Sample

from ..cli.project import Project
from .collections import FORMS, encode_lines, make_streams

STREAMS = make_streams(20)


@pytest.fixture
def conform(monkeypatch, tmp_path):
    """A function that runs a command in this process, whose modules a test can break."""

    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["conform", *words])
        return _run_command()

    return run


def compare(conform, *words):
    return conform("compare", "reference", "--corpus", "a.jsonl", "--deliver", "whole", "-n", "1", *words)


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(encode_lines(STREAMS))


def replace_reader(monkeypatch, name, change):
    reader = inputs.READERS[name]
    monkeypatch.setitem(inputs.READERS, name, replace(reader, read=lambda part: change(reader.read(part))))


def drop_first(recordings):
    next(recordings)
    return (yield from recordings)


def repeat_first(recordings):
    first = next(recordings)
    yield first
    yield first
    return (yield from recordings)


@pytest.mark.parametrize(("change", "count"), [(drop_first, 19), (repeat_first, 21)])
@pytest.mark.parametrize("form", FORMS)
def test_a_reader_that_loses_or_repeats_a_recording_is_noticed(tmp_path, monkeypatch, form, change, count):
    FORMS[form](tmp_path / form, STREAMS)
    (partition,) = split_input(str(tmp_path / form))
    replace_reader(monkeypatch, partition.format, change)
    with pytest.raises(LostError, match=f"20 recordings listed in {form}, but {count} read or refused"):
        list(read_partition(partition))


@pytest.mark.usefixtures("lines")
def test_a_comparison_that_loses_a_recording_exits_with_4_and_is_not_reported(conform, monkeypatch, capsys):
    added = examiner._Sum.add
    monkeypatch.setattr(examiner._Sum, "add", lambda self, *words: self.listed > 1 and added(self, *words))
    assert compare(conform) == Exit.BUG
    out, err = capsys.readouterr()
    assert "error: 20 recordings listed, but 19 read, 0 not read; this is a bug in streamconform" in err
    assert "0 causes" not in out


@pytest.mark.usefixtures("lines")
def test_a_comparison_that_loses_a_partition_exits_with_4(conform, monkeypatch, capsys):
    run = drive._run
    monkeypatch.setattr(drive, "_run", lambda *words: list(run(*words))[1:])
    assert compare(conform, "--partition-size", "0.01") == Exit.BUG
    assert "partitions listed, but" in capsys.readouterr().err


@pytest.mark.usefixtures("lines")
def test_a_comparison_that_loses_a_recording_of_the_sample_exits_with_4(conform, monkeypatch, capsys):
    chosen = Sample((("", (("0", "a.jsonl#0"), ("1", "a.jsonl#1"))),))
    monkeypatch.setattr(drive, "choose_sample", lambda *_: chosen)
    assert compare(conform, "--sample", "2") == Exit.BUG
    assert "2 recordings selected for the sample, but 1 examined" in capsys.readouterr().err


@pytest.fixture
def cut(tmp_path):
    """A project with a file of five members with four recordings each, of which the last lacks its end."""
    members = [gzip.compress(encode_lines(STREAMS[start : start + 4])) for start in range(0, 20, 4)]
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(members[:4]) + members[4][:40])
    return Project(tmp_path)


@pytest.mark.parametrize("words", [(), ("--api", "openai-chat"), ("-n", "2", "--partition-size", "0.001")])
def test_the_rest_of_a_cut_file_is_named_and_the_exit_code_is_2(cut, words):
    ran = cut.run("compare", "reference", "--corpus", "a.jsonl.gz", "--deliver", "whole", *words)
    assert ran.code == 2, ran.err
    assert ", 1 not read in " in ran.last
    assert words or ran.last.startswith("16 recordings, 16 trials, 0 causes in 0 recordings")
    reason = "not read: 1 of unknown: it ends inside a gzip member after recording"
    (position,) = [i for i, line in enumerate(ran.out.splitlines()) if line.startswith(reason)]
    assert ran.out.splitlines()[position + 1] == "    a.jsonl.gz"


def test_the_rest_of_a_cut_file_is_named_for_a_sample_too(cut):
    ran = cut.run("compare", "reference", "--corpus", "a.jsonl.gz", "--deliver", "whole", "--sample", "5")
    assert ran.code == 2
    assert ran.last.startswith("5 recordings, 5 trials, 0 causes in 0 recordings, 1 not read in ")


def test_a_fuzz_campaign_lists_the_recordings_that_it_cannot_mutate(cut):
    words = ("--mode", "differential", "--corpus", "a.jsonl.gz", "--examples", "1", "--api", "openai-chat")
    ran = cut.run("fuzz", "-i", "reference", *words)
    assert ran.code == 2
    assert "not read: a.jsonl.gz: it ends inside a gzip member after recording" in ran.err


@pytest.mark.usefixtures("lines")
def test_reading_at_once_checks_the_same(tmp_path, monkeypatch):
    assert len(read(tmp_path / "a.jsonl").cases) == 20
    replace_reader(monkeypatch, "jsonl", drop_first)
    with pytest.raises(LostError):
        read(tmp_path / "a.jsonl")
