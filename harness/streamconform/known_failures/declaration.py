"""Compare what a known-failures file declares with what the implementation claims. Pure.

The file's entries are the failures that a project declares, and its scope the profile and the level. A run
reports a declaration that says too much or too little as it reports an entry that is out of date.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from streamconform.errors import Problem
from streamconform.known_failures.model import KnownFailures
from streamconform.suite.build import COMMON


def list_false_claims(
    known: KnownFailures, claims: Mapping[str, Collection[str]] | None
) -> tuple[Problem, ...]:
    """Return what `known` declares although the implementation does not claim it, and the other way round.

    `claims` has the capabilities of each API that the implementation reads.
    """
    if known.declares is None or claims is None:
        return ()
    # Functions have no API of their own, and an API's capabilities include theirs.
    of_apis = {api: names for api, names in claims.items() if api != COMMON}
    return tuple(
        Problem(known.path, known.declares_line, f"false: {message}")
        for message in _compare(known.declares, of_apis)
    )


def _compare(declares: Mapping[str, Collection[str]], claims: Mapping[str, Collection[str]]) -> Iterator[str]:
    for api in declares:
        if api not in claims:
            yield f"`{api}` is declared, but the implementation does not read it: remove it"
    for api, claimed in claims.items():
        if api not in declares:
            yield f"`{api}` is read, but not declared: add it"
            continue
        missing, more = sorted({*declares[api]} - {*claimed}), sorted({*claimed} - {*declares[api]})
        if missing:
            yield f"`{api}` declares capabilities that are not claimed: remove {', '.join(missing)}"
        if more:
            yield f"`{api}` does not declare capabilities that are claimed: add {', '.join(more)}"
