"""Order trials so that the first ones find the most causes: for `conform run --budget`.

The file `<specs>/order.txt` lists the trials that found most, one id per line, best first. They were chosen
from what the peers and the mutants fail (`python -m streamconform_dev.matrix.trial_order`). All other trials
are ranked by rule, so that a new case needs no entry, and neither does a specs folder without that file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Final

from streamconform.model.trial import UNCHANGED, AnyTrial
from streamconform.yaml_text.reader import read_file

Group = tuple[AnyTrial, ...]
"""Trials of the same case, which run one after another."""

ORDER_FILE: Final = "order.txt"
EARLY_CUT: Final = "cut-inside-json"
"""The fault that each topic gets early: it breaks a call in the middle of its arguments."""


def read_order(specs: Path) -> tuple[str, ...]:
    """Return the trial ids in the order file; none if the folder `specs` has no such file.

    Empty lines and lines that start with `#` are ignored. Raises `SourceError` if the file cannot be read.
    """
    path = specs / ORDER_FILE
    if not path.exists():
        return ()
    lines = map(bytes.strip, read_file(path, str(path)).splitlines())
    # An id with an unknown character is that of no trial, like any other unknown id.
    return tuple(line.decode("ascii", "replace") for line in lines if line and not line.startswith(b"#"))


def order_trials(trials: Iterable[AnyTrial], listed: Sequence[str]) -> tuple[AnyTrial, ...]:
    """Return `trials`, in three parts: the `listed` ones, a sample of every topic, and the rest.

    In each part the APIs take turns, so that a run that stops early has judged something of every API.
    Listed ids that are not among `trials` are ignored.
    """
    ranks = {id_: rank for rank, id_ in enumerate(listed)}
    by_api: dict[str, list[AnyTrial]] = defaultdict(list)
    for trial in trials:
        by_api[trial.id.partition("/")[0]].append(trial)
    parts: tuple[list[list[Group]], ...] = ([], [], [])
    for of_api in by_api.values():
        first = sorted((trial for trial in of_api if trial.id in ranks), key=lambda trial: ranks[trial.id])
        sample, rest = _divide([trial for trial in of_api if trial.id not in ranks])
        parts[0].append([(trial,) for trial in first])
        parts[1].append(sample)
        parts[2].append(rest)
    return tuple(trial for part in parts for group in _take_turns(part) for trial in group)


def _divide(trials: Iterable[AnyTrial]) -> tuple[list[Group], list[Group]]:
    """Return the sample and the rest of an API's trials, as groups.

    The sample contains the unchanged stream of every case, and one cut per topic; the topics take turns.
    """
    topics: dict[str, list[Group]] = defaultdict(list)
    rest: list[Group] = []
    topics_with_cut: set[str] = set()
    for case, of_case in groupby(trials, lambda trial: trial.case.id):
        topic = case.rpartition("/")[0]
        sample: list[AnyTrial] = []
        others: list[AnyTrial] = []
        for trial in of_case:
            is_cut = trial.delivery is not None and trial.delivery.startswith(EARLY_CUT)
            is_early = trial.delivery in (None, *UNCHANGED) or (is_cut and topic not in topics_with_cut)
            if is_cut:
                topics_with_cut.add(topic)
            (sample if is_early else others).append(trial)
        if sample:
            topics[topic].append(tuple(sample))
        # The trials of a case stay together, because most of their answers are equal, and are judged once.
        if others:
            rest.append(tuple(others))
    return [*_take_turns([*topics.values()])], rest


def _take_turns(lists: Sequence[Sequence[Group]]) -> Iterator[Group]:
    """Yield the first item of each list, then the second of each list, and so on."""
    for turn in zip_longest(*lists):
        yield from (item for item in turn if item is not None)
