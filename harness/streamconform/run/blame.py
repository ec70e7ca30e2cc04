"""Which frames decided a value: the reference's snapshots, loaded by name, compared frame by frame.

Nothing is tracked while an implementation runs; frames are worked out for failing checks only, and once
per body. Where no entry point in the group `streamconform.blame` reads the api, checks have no frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.judge import align, decode
from streamconform.judge.compare import read_field
from streamconform.judge.match import is_equal
from streamconform.model.capability import CAPABILITIES, Claims
from streamconform.model.outcome import Outcome, ToolCall
from streamconform.model.trial import Trial
from streamconform.model.verdict import Check
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

GROUP: Final = "streamconform.blame"
MAX_POSITIONS: Final = 500
"""Snapshots taken of one body; longer streams are looked at twice, the second time where it changed."""
REMEMBERED: Final = 16
"""Bodies whose snapshots are kept; the deliveries of one case share few bodies."""

NOTHING_YET: Final = Outcome(status="incomplete", content=())
"""The outcome before the first frame."""

Snapshots = Callable[[Any, list[int]], Iterator[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Fed:
    """What the reference is asked with in this process; the attributes that an adapter's run has."""

    api: str
    status: int
    headers: Any
    chunks: tuple[bytes, ...]
    request: Any = None
    model: str | None = None
    pricing: Any = None


class Blame:
    """Frames of checks, with a memory of the bodies that were looked at."""

    def __init__(self, snapshots: Snapshots | None) -> None:
        """Use `snapshots`; None: no check has frames."""
        self._snapshots = snapshots
        self._memory: dict[tuple[str, bytes], dict[int, Outcome]] = {}

    def told(self, trial: Trial, checks: Sequence[Check], claims: Claims) -> tuple[Check, ...]:
        """Return `checks` with the frames of the delivered body after which their value changed."""
        if self._snapshots is None:
            return tuple(checks)
        return tuple(replace(each, frames=self._frames(trial, each, claims)) for each in checks)

    def first_delta(self, trial: Trial) -> int | None:
        """Return the offset at which the frame ends that shows the first piece of any block."""
        frames = self._split(trial)
        for number, outcome in self._outcomes(trial, _spread(len(frames))):
            if any(_visible(block) for block in outcome.content):
                return frames[number].end
        return None

    def outcomes(self, trial: Trial) -> tuple[tuple[int, Outcome], ...]:
        """Return (frame, outcome after it) of a body, of at most `MAX_POSITIONS` frames."""
        return tuple(self._outcomes(trial, _spread(len(self._split(trial)))))

    def _frames(self, trial: Trial, failed: Check, claims: Claims) -> tuple[int, ...]:
        of_a_proxy = trial.through is not None and failed.path in trial.through.rules
        if failed.path.startswith("invariant.") or of_a_proxy:
            return ()
        count = len(self._split(trial))
        reader = _Reader(trial, failed.path, claims)
        changed = _changes(self._outcomes(trial, _spread(count)), reader)
        if count > MAX_POSITIONS:
            inside = [n for before, at in changed for n in range(before + 1, at + 1)]
            picked = inside[:: max(1, len(inside) // MAX_POSITIONS)]
            changed = _changes(self._outcomes(trial, sorted({*picked, *(at for _, at in changed)})), reader)
        numbers = tuple(at for _, at in changed)
        return _from_where_they_part(numbers, dict(self._outcomes(trial, list(numbers))), reader, failed.got)

    def _outcomes(self, trial: Trial, at: list[int]) -> list[tuple[int, Outcome]]:
        """Return (frame, outcome after it) for each frame number in `at`."""
        key = (f"{trial.case.api} {trial.case.cassette.status}", trial.body)
        known = self._memory[key] = self._memory.pop(key, {})  # the one used last stands last
        missing = [number for number in at if number not in known]
        if missing and self._snapshots is not None:
            given = self._snapshots(_fed(trial), missing)
            known |= {n: decode.decode_outcome(each) for n, each in zip(missing, given, strict=False)}
        while len(self._memory) > REMEMBERED:
            del self._memory[next(iter(self._memory))]
        return [(number, known[number]) for number in at if number in known]

    @staticmethod
    def _split(trial: Trial) -> tuple[Frame, ...]:
        body = trial.body
        return split(APIS[trial.case.api].detect_framing(trial.case.cassette.status, body), body)


@cache
def installed() -> Snapshots | None:
    """Return the snapshots function of the first entry point in the group, or None."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return partial(_call, points[0]) if points else None


def _call(point: EntryPoint, run: Any, at: list[int]) -> Iterator[dict[str, Any]]:
    # loaded on the first call: a run in which every check passes never needs the reference in this process
    snapshots: Snapshots = point.load()
    return snapshots(run, at)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the value at a check's path from an outcome, aligned as the judge does it."""

    trial: Trial
    path: str
    claims: Claims

    def __call__(self, outcome: Outcome) -> Any:
        if not self.path.startswith("content."):
            return read_field(outcome, self.path)
        expect = self.trial.expect
        blocks = align.normalize_received(
            outcome.content, self.claims or CAPABILITIES, align.collect_kinds(expect.content or ())
        )
        _, where, *rest = self.path.split(".")
        if where == "length":
            return len(blocks)
        if where == "complete_calls":
            return sum(isinstance(each, ToolCall) and each.complete is True for each in blocks)
        if not where.isdigit() or int(where) >= len(blocks):
            return None  # what is told of all blocks together, such as of a cut, has no frame
        block = blocks[int(where)]
        name = rest[-1]
        if name == "arguments" and isinstance(block, ToolCall):
            return [block.arguments_text, block.arguments]
        return getattr(block, name, None)


def _changes(outcomes: list[tuple[int, Outcome]], reader: _Reader) -> list[tuple[int, int]]:
    """Return (position before, position) of each position after which the value is another."""
    found = []
    value, before = reader(NOTHING_YET), -1
    for number, outcome in outcomes:
        now = reader(outcome)
        if not is_equal(value, now):
            found.append((before, number))
        value, before = now, number
    return found


def _from_where_they_part(
    numbers: tuple[int, ...], outcomes: dict[int, Outcome], reader: _Reader, got: Any
) -> tuple[int, ...]:
    """Return for text the frames from the first one that says something else than what was got."""
    if not isinstance(got, str):
        return numbers
    for i, number in enumerate(numbers):
        value = reader(outcomes[number])
        if isinstance(value, str) and not got.startswith(value):
            return numbers[i:]
    return numbers


def _visible(block: Any) -> bool:
    return bool(getattr(block, "text", None) or getattr(block, "arguments_text", None))


def _spread(count: int) -> list[int]:
    """Return up to `MAX_POSITIONS` frame numbers, evenly spread, the last one among them."""
    if count <= MAX_POSITIONS:
        return list(range(count))
    return sorted({(i + 1) * count // MAX_POSITIONS - 1 for i in range(MAX_POSITIONS)})


def _fed(trial: Trial) -> Fed:
    cassette = trial.case.cassette
    return Fed(
        api=trial.case.api,
        status=cassette.status,
        headers=cassette.headers,
        chunks=(trial.body,),
        request=cassette.request.body,
        model=cassette.model,
        pricing=trial.case.pricing,
    )
