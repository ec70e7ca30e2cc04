"""Make results of runs that would take too long for a test, from the trials of a small run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import cycle, islice, product

from streamconform.model.trial import DELIVERIES
from streamconform.run.results import Results

from ..bundled_suite import cases


@cache
def streams() -> tuple[str, ...]:
    """Return the ids of the bundled cases that have bytes, but for one if their number is a multiple of 13.

    There are 13 verdicts in a row, so each case would have the same one in every delivery.
    """
    ids = tuple(case.id for case in cases() if case.api)
    return ids if len(ids) % 13 else ids[1:]


def many(small: Results, trials: int, implementations: int) -> Results:
    """Return `trials` trials of the bundled cases for several implementations; every sixth one failed.

    Checks and answers are taken from the small run's failures, and cases from the suite.
    """
    failed = cycle([each for each in small.trials if each.verdict in ("fail", "warn")])
    passed = next(each for each in small.trials if each.verdict == "pass")
    places = islice(product(DELIVERIES, streams(), range(implementations)), trials)
    verdicts = cycle(("pass",) * 5 + ("fail",) + ("pass",) * 5 + ("skipped", "known"))
    made = []
    for (delivery, case, at), verdict in zip(places, verdicts, strict=False):
        like = (
            next(failed)
            if verdict in ("fail", "known")
            else replace(passed, reason="thinking is not claimed")
        )
        known = "https://example.org/issues/1" if verdict == "known" else None
        id_ = f"{case}@{delivery}"
        made.append(
            replace(
                like,
                implementation=at,
                id=id_,
                case=case,
                delivery=delivery,
                verdict=verdict,
                known=known,
                title=case,
            )
        )
    info = small.header.implementations[0]
    header = replace(
        small.header,
        trials=trials,
        implementations=tuple(
            replace(info, name=f"client-{at}", impl=f"client{at}") for at in range(implementations)
        ),
    )
    counts = Counter(each.verdict for each in made)
    return Results(header, tuple(made), replace(small.footer, counts=dict(counts)) if small.footer else None)
