"""The first inputs of the campaign of damaged inputs; see `inputs` for millions of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from streamconform.errors import SourceError
from streamconform_capture.compare.inputs import READERS
from streamconform_capture.importers import import_file
from streamconform_capture.record import listen
from streamconform_dev.fuzz import imports, inputs, readers, recorder, recordings
from streamconform_dev.fuzz.damage import Damaged, Ending, Loss, check_kept, damage_bytes, damage_file
from streamconform_dev.fuzz.target import Target, make_rng

from ..bundled_suite import NIGHTLY

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
INPUTS = 1_000 if NIGHTLY else 20
GOOD = Damaged(data=b"", count=3, exact=True, intact=2)


@pytest.fixture(autouse=True)
def stage():
    """Close the recorder, so that each test has its own."""
    yield
    recorder.close_stage()


def check(target, folder, seeds=range(INPUTS)):
    """Return what became of some inputs."""
    return [target.check(target.make(make_rng(seed)), folder) for seed in seeds]


def find(name):
    return next(target for target in inputs.TARGETS if target.name == name)


@pytest.mark.parametrize("target", inputs.TARGETS, ids=lambda target: target.name)
def test_no_damage_escapes_and_nothing_is_lost(target, tmp_path):
    endings = check(target, tmp_path)
    assert len({*endings}) > 1, "the inputs differ"


@pytest.mark.parametrize("form", imports.FORMATS, ids=lambda form: form.name)
def test_every_stream_can_be_imported_from_every_format(form):
    rng = make_rng(0)
    for stream in imports.choose_streams(rng, 14):
        data = b"".join(form.write([form.describe(stream, rng)]))
        try:
            found = import_file(Path(form.name), data, None, None)
        except SourceError:
            assert form.name == "a.jsonl", "a body without headers does not always show its API"
            continue
        assert len(found.cassettes) == 1 or form.is_body, (stream.api, found.skipped)


@pytest.mark.parametrize("form", readers.FORMATS, ids=lambda form: form.name)
def test_every_recording_can_be_read_from_every_format(form, tmp_path):
    rng = make_rng(0)
    for _ in range(10):
        made = recordings.make_recordings(rng)
        data = b"".join(form.write(made, rng))
        file = Damaged(data=data, count=len(made), exact=True, intact=len(made))
        whole = frozenset(each.body for each in made)
        collection = recordings.Collection(file, whole, rng.choice(recordings.PARTITION_SIZES))
        assert recordings.check_input(form, collection, tmp_path) is Ending.WHOLE


def test_a_lost_exchange_is_noticed(monkeypatch, tmp_path):
    def lose(*arguments):
        found = import_file(*arguments)
        return replace(found, cassettes=found.cassettes[1:])

    monkeypatch.setattr(imports, "import_file", lose)
    with pytest.raises(Loss, match="drafts"):
        check(find("import a.har"), tmp_path)


def test_a_lost_recording_is_noticed(monkeypatch, tmp_path):
    read_partition = recordings.read_partition
    monkeypatch.setattr(recordings, "read_partition", lambda partition: [*read_partition(partition)][1:])
    with pytest.raises(Loss, match="used"):
        check(find("read a.jsonl"), tmp_path)


@pytest.mark.parametrize(
    ("used", "named", "words"),
    [(2, 0, "2 used, 0 named"), (1, 2, "2 are intact"), (3, 1, "3 used, 1 named")],
)
def test_what_is_not_accounted_for_is_a_loss(used, named, words):
    with pytest.raises(Loss, match=words):
        check_kept(GOOD, used, named)


def test_a_cut_file_is_a_loss_unless_something_is_named():
    cut = Damaged(data=b"", count=1, intact=1, told=True)
    assert check_kept(cut, 1, 1) is Ending.PART
    with pytest.raises(Loss, match="the damage is not mentioned"):
        check_kept(cut, 1, 0)


def test_damage_concerns_only_the_records_that_it_changes():
    pieces = [b'{"a": %d}\n' % number for number in range(5)]
    for seed in range(500):
        made = damage_file(pieces, 5, make_rng(seed), tail=b"\n", is_marked=False, is_apart=True)
        lines = made.data.split(b"\n")
        assert sum(piece[:-1] in lines for piece in pieces) >= made.intact, seed


def test_bytes_are_damaged_in_few_places():
    data = bytes(range(256)) * 4
    sizes = {len(damage_bytes(data, make_rng(seed))) for seed in range(100)}
    assert min(sizes) > len(data) - 4 * 41
    assert max(sizes) < len(data) + 4 * 41


def test_every_format_that_can_be_read_is_damaged():
    suffixes = {suffix for reader in READERS.values() for suffix in reader.suffixes} - {".tgz"}
    assert {form.name.removeprefix("a") for form in readers.FORMATS} == suffixes


def keep_the_length(answer):
    """Return the head as an early recorder made it, which h11 refuses for an answer in chunks."""
    headers = [(name, value) for name, value in answer.headers if name != b"transfer-encoding"]
    return listen.h11.Response(status_code=answer.status_code, headers=headers, reason=answer.reason)


def test_a_recorder_that_breaks_answers_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(listen, "_make_response", keep_the_length)
    with pytest.raises(Loss, match="the answer is whole, the recording not forwarded"):
        check(find("record a legal answer"), tmp_path, range(100))


def test_a_recorder_that_loses_bytes_is_noticed(monkeypatch, tmp_path):
    store = listen._Forwarding._store
    monkeypatch.setattr(listen._Forwarding, "_store", lambda self, data: store(self, data[1:]))
    with pytest.raises(Loss, match="bytes"):
        check(find("record a legal answer"), tmp_path)


def test_an_exception_in_a_task_of_the_recorder_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(listen, "_find_refusal", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        check(find("record a legal answer"), tmp_path)


def fail(made, folder):
    """Do what the input says."""
    match made:
        case 1:
            raise IndexError("list index \x1b out of range")
        case 2:
            assert len(b"x" * (inputs.MEMORY + 16 * 1024 * 1024)) > made
        case 3:
            while True:
                pass
        case 4:
            raise Loss("3 in the file, 2 used, 0 named")
        case 5:
            bytearray(inputs.MEMORY * 10)
        case 6:
            (folder / "left behind").touch()
    return Ending.WHOLE


def test_each_failure_is_counted_with_its_seed_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(inputs, "CPU_SECONDS", 1)
    numbers = {make_rng(seed).random(): seed for seed in range(8)}
    tally = inputs.run_inputs(Target("all", lambda rng: numbers[rng.random()], fail, 1), range(8))
    assert tally.endings == {Ending.WHOLE: 3}
    kinds = inputs.Kind
    assert tally.failures == {kinds.FOREIGN: 1, kinds.MEMORY: 2, kinds.CPU: 1, kinds.LOSS: 1}
    assert [re.sub(r"\d+ MiB", "N MiB", text) for text in sorted(tally.texts)] == [
        "all, seed 1: IndexError: list index \\x1b out of range",
        "all, seed 2: N MiB",
        "all, seed 3: over 5 s of CPU (27)",
        "all, seed 4: 3 in the file, 2 used, 0 named",
        "all, seed 5: MemoryError",
    ]


def test_the_inputs_are_shared_among_the_targets_and_the_same_each_time():
    planned = [*inputs.plan(inputs.TARGETS, 100_500, 7)]
    assert planned == [*inputs.plan(inputs.TARGETS, 100_500, 7)]
    assert sum(len(seeds) for _, seeds in planned) == 100_500
    for target in inputs.TARGETS:
        seeds = [seed for each, part in planned if each is target for seed in part]
        assert seeds == [*range(7, 7 + len(seeds))]


def test_a_campaign_prints_a_row_per_target_and_fails_after_a_failure(monkeypatch, capsys):
    bad = Target("bad", lambda _: 1, fail, 1)
    monkeypatch.setattr(inputs, "TARGETS", (Target("good", lambda _: 0, fail, 1), bad))
    assert inputs.main(["--inputs", "3", "--target", "good"]) == 0
    assert inputs.main(["--inputs", "1", "--target", "bad", "--seed", "9"]) == 1
    printed = capsys.readouterr().out
    assert "bad, seed 9: IndexError: list index \\x1b out of range" in printed
    assert "| good | 3 |" in printed
