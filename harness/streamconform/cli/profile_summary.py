"""The line printed after a profile is run: its share of the suite, and the command that runs the rest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.files import read_regular
from streamconform.model.result import Header
from streamconform.plural import format_count
from streamconform.suite.build import COMMON
from streamconform.suite.catalog import Catalog
from streamconform.suite.profiles import Profile

NARROWING: Final = ("select", "level", "shard", "last_failed")
"""Settings that make a run smaller than its profile by excluding cases."""
_ROUND_TRIPS: Final = re.compile(rb"^kind: *round_trip\b", re.MULTILINE)
"""Marks a spec file whose cases run only over HTTP."""


def describe_rest(
    profile: Profile | None, catalog: Catalog, header: Header, arguments: Mapping[str, Any]
) -> str | None:
    """Return the number of cases that the full suite adds to `profile`, and the command to run that suite.

    Only cases of the claimed APIs count. None if no profile was run, or if options excluded part of it.
    `arguments` are the command-line arguments.
    """
    if profile is None or any(header.selection.get(name) for name in NARROWING):
        return None
    claimed = {api for info in header.implementations for api in info.claims or {}}
    apis = [api for api in header.selection.get("api") or APIS if api in claimed]
    # Functions belong to no API, so they are counted only if the adapter claims all APIs or none.
    included = {*apis, COMMON} if len(apis) in (0, len(APIS)) else set(apis)
    over_http = any(info.input == "http" for info in header.implementations)
    total = sum(
        len(catalog.read_ids((path,)))
        for path in catalog.paths
        if path.parent.name in included and (over_http or not _ROUND_TRIPS.search(read_regular(path)))
    )
    count = sum(id_.partition("/")[0] in included for id_ in profile.cases)
    where = f" of {apis[0] if len(apis) == 1 else f'{len(apis)} APIs'}" if COMMON not in included else ""
    share = f"{profile.name}: {count:,} of {format_count(total, 'case')}{where}."
    if not arguments.get("profile"):
        return f"{share} To run the full suite, remove `profile` from the config file."
    return f"{share} The full suite adds {total - count:,}: {_format_command(arguments)}"


def _format_command(arguments: Mapping[str, Any]) -> str:
    """Return the command line without its profile and reports."""
    words: list[str] = []
    for option, name in (("-i", "impl"), ("--api", "api"), ("--known-failures", "known_failures")):
        for value in arguments.get(name) or ():
            words += [option, value]
    for option, name in (("--input", "input"), ("--specs", "specs"), ("--cassettes", "cassettes")):
        if arguments.get(name):
            words += [option, str(arguments[name])]
    program: Sequence[str] = arguments.get("program") or ()
    return shlex.join(("conform", "run", *words, *(("--", *program) if program else ())))
