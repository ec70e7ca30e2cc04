"""Find the frames that determined a failing value, by comparing the reference's outcome after each frame.

Nothing is tracked while an implementation runs, so passing trials incur no cost: frames are computed only for
failing checks, and only once per body. The reference is found through the entry point group
`streamconform.blame`, as any other parser could be. Without an entry point that supports the API, checks have
no frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from msgspec import Struct, structs

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
"""Maximum snapshots per body and pass; longer streams get a second pass between differing snapshots."""
MAX_BODIES: Final = 16
"""The number of bodies whose snapshots are cached; a case's deliveries share a few bodies."""

EMPTY_OUTCOME: Final = Outcome(status="incomplete", content=())
"""The outcome before the first frame."""

Snapshots = Callable[[Any, list[int]], Iterator[dict[str, Any]]]


class ReferenceInput(Struct, frozen=True):
    """The input for the reference in this process, with the attributes of `adapter_input.BytesInput`."""

    api: str
    status: int
    headers: Any
    chunks: tuple[bytes, ...]
    request: Any = None
    model: str | None = None
    pricing: Any = None
    stream: bool = True


class Blame:
    """Finds the relevant frames for checks, and caches the snapshots of recent bodies."""

    def __init__(self, snapshots: Snapshots | None) -> None:
        """Use the function `snapshots`; if it is None, no frames are added to checks."""
        self._snapshots = snapshots
        self._cache: dict[tuple[str, bytes], dict[int, Outcome]] = {}

    def add_frames(self, trial: Trial, checks: Sequence[Check], claims: Claims) -> tuple[Check, ...]:
        """Return `checks` with those frames of the delivered body after which the checked value changed."""
        # A huge stream takes too long to read again after each of its frames.
        if self._snapshots is None or trial.case.growth is not None:
            return tuple(checks)
        return tuple(replace(check, frames=self._find_frames(trial, check, claims)) for check in checks)

    def find_first_delta(self, trial: Trial) -> int | None:
        """Return the end offset of the first frame after which any block has text, or None if none has."""
        frames = self._split(trial)
        for number, outcome in self._outcomes(trial, _spread_positions(len(frames))):
            if any(_has_text(block) for block in outcome.content):
                return frames[number].end
        return None

    def list_outcomes(self, trial: Trial) -> tuple[tuple[int, Outcome], ...]:
        """Return (frame number, outcome after it) for up to `MAX_POSITIONS` frames, evenly spread."""
        return tuple(self._outcomes(trial, _spread_positions(len(self._split(trial)))))

    def _find_frames(self, trial: Trial, failed: Check, claims: Claims) -> tuple[int, ...]:
        is_proxy_rule = trial.through is not None and failed.path in trial.through.rules
        if failed.path.startswith("invariant.") or is_proxy_rule:
            return ()  # such a check does not compare a value of the outcome
        count = len(self._split(trial))
        reader = _Reader(trial, failed.path, claims)
        changed = _find_changes(self._outcomes(trial, _spread_positions(count)), reader)
        if count > MAX_POSITIONS:
            candidates = [n for before, after in changed for n in range(before + 1, after + 1)]
            sample = candidates[:: max(1, len(candidates) // MAX_POSITIONS)]
            positions = sorted({*sample, *(after for _, after in changed)})
            changed = _find_changes(self._outcomes(trial, positions), reader)
        numbers = tuple(after for _, after in changed)
        return _drop_agreeing_frames(numbers, dict(self._outcomes(trial, list(numbers))), reader, failed.got)

    def _outcomes(self, trial: Trial, positions: list[int]) -> list[tuple[int, Outcome]]:
        """Return (frame number, outcome after it) for each frame number in `positions`."""
        given = _build_input(trial)
        # Everything the outcome depends on: two cases may share a body but differ in prices. `repr` is used
        # because mappings have no hash.
        key = (repr(structs.replace(given, chunks=())), trial.body)
        # Reinserting the entry keeps the dictionary ordered by last use, so its first entry is the least
        # recently used.
        known = self._cache[key] = self._cache.pop(key, {})
        missing = [number for number in positions if number not in known]
        if missing and self._snapshots is not None:
            snapshots = self._snapshots(given, missing)
            known |= {
                n: decode.decode_outcome(snapshot) for n, snapshot in zip(missing, snapshots, strict=False)
            }
        while len(self._cache) > MAX_BODIES:
            del self._cache[next(iter(self._cache))]
        return [(number, known[number]) for number in positions if number in known]

    @staticmethod
    def _split(trial: Trial) -> tuple[Frame, ...]:
        body = trial.body
        return split(APIS[trial.case.api].frame_case(trial.case, body), body)


@cache
def load_snapshots() -> Snapshots:
    """Return the snapshots function of the first entry point in the group; without one, it yields none."""

    def take_snapshots(run: Any, positions: list[int]) -> Iterator[dict[str, Any]]:
        # Found on the first call: a run in which every check passes never needs the reference here.
        snapshots = _find_snapshots()
        return iter(()) if snapshots is None else snapshots(run, positions)

    return take_snapshots


@cache
def _find_snapshots() -> Snapshots | None:
    from importlib.metadata import entry_points

    # By name, because the order of entry points depends on the installation.
    point = min(entry_points(group=GROUP), key=lambda point: point.name, default=None)
    return None if point is None else point.load()


class _Reader(Struct, frozen=True):
    """Reads the value at a check's path from an outcome, whose blocks are aligned as in the judge."""

    trial: Trial
    path: str
    claims: Claims

    def __call__(self, outcome: Outcome) -> Any:
        if not self.path.startswith("content."):
            return read_field(outcome, self.path)
        expect = self.trial.expect
        blocks = align.normalize_received(outcome.content, self.claims or CAPABILITIES, expect.content or ())
        _, position, *rest = self.path.split(".")
        if position == "length":
            return len(blocks)
        if position == "complete_calls":
            return sum(isinstance(block, ToolCall) and block.complete is True for block in blocks)
        if not position.isdigit() or int(position) >= len(blocks):
            return None  # A check on all blocks together, such as for a cut stream, has no frame.
        block = blocks[int(position)]
        name = rest[-1]
        # The text is included: while a call streams, its arguments are null, and only the text reveals the
        # frames.
        if name == "arguments" and isinstance(block, ToolCall):
            return [block.arguments_text, block.arguments]
        return getattr(block, name, None)


def _find_changes(outcomes: list[tuple[int, Outcome]], reader: _Reader) -> list[tuple[int, int]]:
    """Return (previous position, position) for each position where the value changes."""
    changes = []
    value, before = reader(EMPTY_OUTCOME), -1
    for number, outcome in outcomes:
        new_value = reader(outcome)
        if not is_equal(value, new_value):
            changes.append((before, number))
        value, before = new_value, number
    return changes


def _drop_agreeing_frames(
    numbers: tuple[int, ...], outcomes: dict[int, Outcome], reader: _Reader, got: Any
) -> tuple[int, ...]:
    """For text, drop the frames before the first one whose value is not a prefix of `got`."""
    if not isinstance(got, str):
        return numbers
    for i, number in enumerate(numbers):
        value = reader(outcomes[number])
        if isinstance(value, str) and not got.startswith(value):
            return numbers[i:]
    return numbers


def _has_text(block: Any) -> bool:
    return bool(getattr(block, "text", None) or getattr(block, "arguments_text", None))


def _spread_positions(count: int) -> list[int]:
    """Return up to `MAX_POSITIONS` frame numbers, evenly spread and including the last one."""
    if count <= MAX_POSITIONS:
        return list(range(count))
    return sorted({(i + 1) * count // MAX_POSITIONS - 1 for i in range(MAX_POSITIONS)})


def _build_input(trial: Trial) -> ReferenceInput:
    cassette = trial.case.cassette
    return ReferenceInput(
        api=trial.case.api,
        status=trial.status,
        headers=trial.headers,
        chunks=(trial.body,),
        request=cassette.request.body,
        model=cassette.model,
        pricing=trial.case.pricing,
    )
