"""Load a run's suite to get the titles, requests and bytes, which are not in the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamconform._version import __version__
from streamconform.errors import ConformError
from streamconform.model.case import AnyCase, Case
from streamconform.model.trial import Trial
from streamconform.printable import escape_line
from streamconform.run.results import Results
from streamconform.suite.catalog import read_catalog
from streamconform.suite.evidence import Fact, find_facts
from streamconform.suite.expand import make_trial
from streamconform.suite.selection import SelectionSettings, add_optional, find_sources


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases by id; `problem` says why there are none, or that they may have changed since the run."""

    cases: Mapping[str, AnyCase]
    problem: str | None = None
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    """The facts that support each case, by case id."""

    def find_trial(self, case_id: str, delivery: str, seed: int) -> Trial | None:
        """Return the trial with its bytes, or None for a function call or a trial no longer in the suite."""
        case = self.cases.get(case_id)
        if not isinstance(case, Case):
            return None
        try:
            return make_trial(case, delivery, seed)
        except ConformError:
            return None


def read_suite(results: Results) -> Suite:
    """Load the cases in `results`; return them, or the problem that prevents loading them."""
    header = results.header
    judged = {trial.case for trial in results.trials}
    settings = SelectionSettings(
        specs=header.selection.get("specs"),
        cassettes=header.selection.get("cassettes"),
    )
    try:
        sources = add_optional(find_sources(settings), judged)
        cases = read_catalog(sources).load(judged)
    except (ConformError, OSError, ValueError) as error:
        reason = escape_line(str(error).partition("\n")[0], 300)
        return Suite(
            {}, f"titles, requests and wires are missing, because the suite cannot be read: {reason}"
        )
    problem = None
    # A user's own specs have no release.
    if header.version != __version__ and not settings.specs:
        problem = (
            f"the run used streamconform {escape_line(header.version)}, but this page shows the cases"
            f" and wires of {__version__}"
        )
    return Suite({case.id: case for case in cases}, problem, find_facts(sources.specs, cases))
