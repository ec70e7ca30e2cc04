"""Cases for what results do not hold, read by the header's selection; and why some could not be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamconform import __version__
from streamconform.errors import ConformError
from streamconform.model.case import AnyCase, Case
from streamconform.model.trial import Trial
from streamconform.reports.words import printable
from streamconform.resources import bundled
from streamconform.run.results import Results
from streamconform.suite.catalog import read_catalog
from streamconform.suite.expand import make_trial
from streamconform.suite.load import Sources


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases by id; `problem` says in words why there are none, or that they may be others by now."""

    cases: Mapping[str, AnyCase]
    problem: str | None = None

    def trial(self, case: str, delivery: str, seed: int) -> Trial | None:
        """Return a trial with its bytes; None for a call, and for what the suite does not have any more."""
        found = self.cases.get(case)
        if not isinstance(found, Case):
            return None
        try:
            return make_trial(found, delivery, seed)
        except ConformError:
            return None


def read(results: Results) -> Suite:
    """Return the cases that results are about, or none of them with the reason."""
    header = results.header
    given, beside = header.selection.get("specs"), header.selection.get("cassettes")
    try:
        specs = Path(given) if given else bundled("specs")
        if given and not beside:
            near = specs.resolve().parent / "cassettes"
            beside = near if near.is_dir() else None
        catalog = read_catalog(Sources(specs, Path(beside) if beside else bundled("cassettes")))
        judged = {trial.case for trial in results.trials}
        cases = catalog.load(judged.intersection(catalog.ids))
    except (ConformError, OSError, ValueError) as error:
        why = printable(str(error).partition("\n")[0], 300)
        return Suite({}, f"titles, requests and wires are missing, because the suite cannot be read: {why}")
    problem = None
    if header.version != __version__ and not given:
        problem = (
            f"the run was made with streamconform {printable(header.version)}, this page with {__version__}: "
            "what is shown of cases and wires is of the latter"
        )
    return Suite({case.id: case for case in cases}, problem)
