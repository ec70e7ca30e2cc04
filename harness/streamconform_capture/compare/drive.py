"""Submit the partitions of the inputs to an engine, and add up the findings from its workers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from streamconform.conservation import Balance, require_balance
from streamconform.errors import UsageError, WorkerError
from streamconform.model.case import Case
from streamconform_capture.compare import store, work
from streamconform_capture.compare.engines import Death, Engine, Work
from streamconform_capture.compare.inputs import split_input
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.job import Job
from streamconform_capture.compare.part import Part, add_parts
from streamconform_capture.compare.sample import Sample, SampleRequest, merge_samples

MAX_DEATHS: Final = 2
"""After this many worker deaths on one partition, the recording that kills the worker is searched for."""
MAX_DEADLY: Final = 10
"""The maximum number of recordings that may kill their worker before the partition is given up."""
MAX_LOSSES: Final = 20
"""The maximum number of times that a partition may be lost with the connection."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The progress of a run."""

    done: int
    """Bytes."""
    found: Part
    """The sum of the results so far."""


def examine_inputs(
    job: Job,
    engine: Engine,
    partitions: Iterable[Partition],
    on_advance: Callable[[Advance], None],
    *,
    resume: bool = False,
) -> Part:
    """Return the sum of the results of all `partitions`; the caller gets the sum so far after each one.

    With `resume`, partitions whose results an earlier run has stored are not examined again. Raises
    `LostError` if the results do not include every partition once.
    """
    found = Part()
    done = listed = examined = 0

    def add(partition: Partition, part: Part) -> None:
        nonlocal found, done, examined
        found = add_parts((found, part), job.examples)
        examined += 1
        done += partition.size
        on_advance(Advance(done, found))

    def list_pending() -> Iterator[Partition]:
        nonlocal listed
        for partition in partitions:
            listed += 1
            kept = store.read_part(job, partition.id) if resume else None
            if kept is None:
                yield partition
            else:
                add(partition, kept)

    for partition, part in _run(engine, work.examine_partition, job, list_pending()):
        add(partition, part)
    require_balance(Balance("partition", "listed", listed, {"examined": examined}))
    return found


def choose_sample(request: SampleRequest, engine: Engine, partitions: Iterable[Partition]) -> Sample:
    """Return the sample of the recordings."""
    sample = merge_samples(request, ())
    for _, each in _run(engine, work.sample_partition, request, iter(partitions)):
        sample = merge_samples(request, (sample, each))
    return sample


def fetch_recordings(
    names: frozenset[str], engine: Engine, partitions: Iterable[Partition]
) -> Mapping[str, Case]:
    """Return the recordings `names`."""
    found = _run(engine, work.fetch_recordings, names, iter(partitions)) if names else ()
    return {case.id: case for _, cases in found for case in cases}


def split_inputs(urls: Iterable[str], size: int, only: frozenset[str] | None = None) -> Iterator[Partition]:
    """Yield the partitions of the inputs."""
    for url in urls:
        for partition in split_input(url, size):
            yield replace(partition, only=only)


def _run(
    engine: Engine, function: Work, request: Any, partitions: Iterator[Partition]
) -> Iterator[tuple[Partition, Any]]:
    """Yield every partition with its result, in any order.

    If a worker dies, its partition is given to another worker. If that worker dies too, the recordings that
    kill it are searched for, and the partition is examined without them. Raises `WorkerError` if workers
    still die after that.
    """
    losses: Counter[str] = Counter()
    deaths: Counter[str] = Counter()
    searched: set[str] = set()
    arrived: deque[tuple[Partition, Any]] = deque()
    pending = 0
    exhausted = False
    while True:
        while not exhausted and pending < engine.slots:
            following = next(partitions, None)
            exhausted = following is None
            if following is not None:
                engine.submit(function, request, following)
                pending += 1
        if not pending:
            return
        if not arrived:
            arrived.extend(engine.wait())
        partition, result = arrived.popleft()
        if isinstance(result, Death):
            counter = deaths if result.counts else losses
            counter[partition.id] += 1
            if losses[partition.id] > MAX_LOSSES:
                raise UsageError(f"the scheduler lost a partition {MAX_LOSSES} times: {result.reason}")
            if deaths[partition.id] >= MAX_DEATHS:
                if partition.id in searched:
                    raise WorkerError(f"{partition.url}: {result.reason}")
                searched.add(partition.id)
                search = _Search(engine, function, request, partition, arrived)
                partition = search.exclude_deadly(result)
                # The partition without the deadly recordings has the same id, so its deaths are counted anew.
                deaths[partition.id] = 0
            engine.submit(function, request, partition)
        else:
            pending -= 1
            yield partition, result


@dataclass(slots=True)
class _Search:
    """The search for the recordings in a partition that kill their worker."""

    engine: Engine
    function: Work
    request: Any
    partition: Partition
    arrived: deque[tuple[Partition, Any]]
    """Collects the results of other partitions that arrive during the search."""

    def exclude_deadly(self, death: Death) -> Partition:
        """Return the partition without recordings that kill their worker; each is listed with a reason."""
        names = self._ask(work.list_recordings, None, self.partition)
        if isinstance(names, Death):
            # Merely reading the recordings kills the worker, so the partition cannot be examined.
            return replace(self.partition, unreadable=names.reason)
        wanted = tuple(name for name in names if self.partition.only is None or name in self.partition.only)
        deadly = tuple(self._find_deadly(wanted))
        if len(deadly) > MAX_DEADLY:
            return replace(
                self.partition, unreadable=f"more than {MAX_DEADLY} of its recordings: {death.reason}"
            )
        return replace(self.partition, without=(*self.partition.without, *deadly))

    def _find_deadly(self, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        # Together they already killed the worker, so try each half next.
        pending = _halve(names)
        found = 0
        while pending and found <= MAX_DEADLY:
            part = pending.pop()
            # Without results, because a file for these recordings would mark the whole partition as done.
            request = replace(self.request, results=None) if isinstance(self.request, Job) else self.request
            probe = replace(self.partition, only=frozenset(part))
            # A single recording gets a second chance, because a worker may die for another reason.
            result = self._ask(self.function, request, probe, MAX_DEATHS if len(part) == 1 else 1)
            if not isinstance(result, Death):
                continue
            if len(part) == 1:
                found += 1
                yield part[0], result.reason
            else:
                pending += _halve(part)

    def _ask(self, function: Work, request: Any, partition: Partition, limit: int = MAX_DEATHS) -> Any:
        """Return the result for one partition, or a `Death` once its workers have died `limit` times."""
        deaths = 0
        self.engine.submit(function, request, partition)
        while True:
            answer = None
            for other, result in list(self.engine.wait()):
                if other == partition:
                    answer = result
                else:
                    self.arrived.append((other, result))
            if isinstance(answer, Death):
                deaths += answer.counts
                if deaths >= limit:
                    return answer
                self.engine.submit(function, request, partition)
            elif answer is not None:
                return answer


def _halve(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the two halves of `names`, the second one first; an empty half is omitted."""
    middle = len(names) // 2
    return [part for part in (names[middle:], names[:middle]) if part]
