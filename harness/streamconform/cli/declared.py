"""`conform run --declared`: run what the known-failures file declares, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from streamconform.config import ProjectSettings
from streamconform.errors import UsageError
from streamconform.known_failures.model import KnownFailures
from streamconform.known_failures.reading import list_known_failures
from streamconform.suite.profiles import list_profile_files
from streamconform.suite.selection import SelectionSettings, find_sources

OTHERS: Final = {
    "select": "-k",
    "api": "--api",
    "profile": "--profile",
    "level": "--level",
    "deliver": "--deliver",
    "faults": "--faults",
    "input": "--input",
    "recorded": "--recorded",
    "strict": "--strict",
    "shard": "--shard",
    "last_failed": "--last-failed",
    "budget": "--budget",
    "resume": "--resume",
    "exitfirst": "-x",
    "maxfail": "--maxfail",
}
"""Options that select or judge trials in another way than the declaration, by their names for click."""


def apply_declaration(settings: ProjectSettings, arguments: Mapping[str, Any]) -> ProjectSettings:
    """Return `settings` with the selection that the known-failures file declares; `arguments` are options.

    Raises `UsageError` if no file, or more than one, declares something for the implementation, if the file
    pins no release of a profile, or if an option selects other trials.
    """
    given = [option for name, option in OTHERS.items() if arguments.get(name) not in (None, (), False)]
    if given:
        raise UsageError(
            f"`--declared` cannot be used with `{'`, `'.join(given)}`: the declaration selects the trials"
        )
    known = _find_declaration(settings)
    scope = known.scope or {}
    selection = settings.selection
    releases = [path.stem for path in list_profile_files(find_sources(selection).specs)]
    if scope.get("profile") not in releases:
        raise UsageError(
            f"{known.path}: a declaration is for one release of a profile; write `scope: {{profile: NAME}}`"
            f" with one of {', '.join(releases)}"
        )
    fixed = {"seed": selection.seed, "specs": selection.specs, "cassettes": selection.cassettes}
    return replace(
        settings,
        selection=SelectionSettings.from_values({**scope, **fixed, "api": [*(known.declares or ())]}),
        strict=bool(scope.get("strict")),
    )


def _find_declaration(settings: ProjectSettings) -> KnownFailures:
    """Return the only file that declares something for the only implementation. Raises `SourceError` too."""
    impls = settings.impl or ("reference",)
    listed = list_known_failures(settings.known_failures, impls)
    declaring = [known for known in listed if known.declares is not None]
    if len(declaring) != 1 or len(impls) != 1:
        raise UsageError(
            f"`--declared` needs one implementation and one known-failures file with `declares`; here are"
            f" {len(impls)} and {len(declaring)}"
        )
    return declaring[0]
