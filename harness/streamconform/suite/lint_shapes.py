"""Find shapes in authored streams that no real stream has, and `seen_in` values that match no real stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import Problem
from streamconform.model.case import Case
from streamconform.model.cassette import Cassette
from streamconform.suite.evidence import read_facts
from streamconform.suite.load import LoadResult, Sources
from streamconform.suite.shapes import (
    DOCUMENTED,
    ENDS,
    FOLDER,
    ORDER,
    Explanation,
    Known,
    Shape,
    read_ending,
    read_known,
    read_shapes,
)

MAX_SHOWN: Final = 3
"""The maximum number of unknown shapes to list per stream; the others are only counted."""
REAL: Final = ("recorded", "pulled")


@dataclass(frozen=True, slots=True)
class ShapeReport:
    """The problems, and the number of authored streams of each kind."""

    problems: tuple[Problem, ...]
    streams: Mapping[str, int] = field(default_factory=dict)
    """The number of authored streams by the weakest origin of their shapes: seen, documented, explained or
    unknown.
    """


def lint_shapes(sources: Sources, loaded: LoadResult) -> ShapeReport:
    """Compare every authored stream with the known shapes, and every `seen_in` with its recording.

    Raises:
        SourceError: known shapes or evidence cannot be read.

    """
    cases = [case for case in loaded.cases if isinstance(case, Case) and is_stream(case.cassette)]
    problems = list(_check_counterparts(loaded.cases, cases))
    streams: Counter[str] = Counter()
    for api in sorted({case.api for case in cases}):
        known = read_known(sources.specs, api)
        used: set[Explanation] = set()
        authored = {
            case.cassette.name: case.cassette
            for case in cases
            if case.api == api and case.cassette.provenance.kind == "authored"
        }
        for cassette in authored.values():
            ground, unknown, explanations = _judge(known, read_form(cassette))
            streams[ground] += 1
            used |= explanations
            if unknown:
                problems.append(_report_unknown(sources, cassette, unknown))
        problems += _check_explanations(sources, api, known, used)
    return ShapeReport(tuple(problems), streams)


def is_stream(cassette: Cassette) -> bool:
    """Return whether the bytes are available and are a stream."""
    framing = (
        APIS[cassette.api].detect_framing(cassette.status, cassette.body) if cassette.body else "document"
    )
    return framing != "document"


def read_form(cassette: Cassette) -> frozenset[Shape]:
    """Return the shapes of a stream, and its ending."""
    ending = read_ending(cassette)
    return read_shapes(cassette) | ({ending} if ending else set())


def find_fields(shapes: Iterable[Shape]) -> frozenset[Shape]:
    """Return the shapes of fields, leaving out those of event orders and endings."""
    return frozenset(shape for shape in shapes if shape.type not in (ORDER, ENDS))


def _judge(known: Known, shapes: frozenset[Shape]) -> tuple[str, list[Shape], set[Explanation]]:
    """Return the weakest origin, the shapes without an origin, and the explanations that were needed."""
    unknown: list[Shape] = []
    needed: set[Explanation] = set()
    for shape in sorted(shapes - known.origins.keys()):
        explanation = next((candidate for candidate in known.explanations if candidate.explains(shape)), None)
        if explanation is None:
            unknown.append(shape)
        else:
            needed.add(explanation)
    if unknown:
        return "unknown", unknown, needed
    if needed:
        return "explained", unknown, needed
    is_documented = any(known.origins[shape] == DOCUMENTED for shape in shapes)
    return "documented" if is_documented else "seen", unknown, needed


def _report_unknown(sources: Sources, cassette: Cassette, unknown: list[Shape]) -> Problem:
    shown = ", ".join(f"`{shape}`" for shape in unknown[:MAX_SHOWN])
    rest = len(unknown) - MAX_SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    table = sources.specs / FOLDER / f"{cassette.api}.yaml"
    message = (
        f"no real stream or official type has {shown}{more}; correct the stream, or explain it in `{table}`"
    )
    return Problem(str(sources.cassettes / cassette.api / f"{cassette.name}.yaml"), None, message)


def _check_explanations(
    sources: Sources, api: str, known: Known, used: set[Explanation]
) -> Iterator[Problem]:
    facts = read_facts(sources.specs, api)
    for explanation in known.explanations:
        at = explanation.path, explanation.line
        for name in explanation.facts:
            if name not in facts:
                yield Problem(*at, f"no fact `{name}` in the evidence of {api}")
        if explanation not in used:
            yield Problem(*at, "no authored stream has the shape that this entry explains; delete the entry")


def _check_counterparts(everything: Iterable[object], cases: Iterable[Case]) -> Iterator[Problem]:
    """Yield a problem for each `seen_in` that names no real stream with the fields of the case's stream."""
    by_id = {case.id: case for case in everything if isinstance(case, Case)}
    for case in cases:
        if case.seen_in is None:
            continue
        real = by_id.get(case.seen_in)
        if real is None or real.api != case.api or real.cassette.provenance.kind not in REAL:
            message = f"`seen_in`: {case.api} has no case `{case.seen_in}` about a real stream"
        elif not real.cassette.body:
            continue  # The recording was not pulled.
        else:
            missing = sorted(find_fields(read_shapes(case.cassette)) - read_shapes(real.cassette))
            if not missing:
                continue
            message = (
                f"`seen_in`: `{case.seen_in}` has no `{missing[0]}`; choose another one, or leave it out"
            )
        yield Problem(case.path, case.line, f"case `{case.id}`: {message}")
