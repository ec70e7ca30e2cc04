"""Find the ids of all cases without parsing the specs, so that a run loads only the cases it needs.

Loading every spec and cassette takes more than a second, which is too long for a run of one case. Therefore,
ids are read from the text of the specs, cases are selected by id, and only the selected cases are loaded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.model.case import AnyCase, CaseHead
from streamconform.suite.compiled import Store, find_store
from streamconform.suite.load import LoadResult, Sources, list_files, load_heads, load_suite
from streamconform.suite.select import may_match_file
from streamconform.suite.sizes import holds_all_apis, list_streams
from streamconform.yaml_text import reader

_CASES_KEY: Final = re.compile(rb"^cases:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*( *)- ", re.MULTILINE)
"""The key `cases` and the indentation of its first item, in block style."""


@dataclass(frozen=True)
class Catalog:
    """A suite's spec files, and the ids of their cases; a file is read only when its ids are needed."""

    sources: Sources
    paths: tuple[Path, ...]
    store: Store | None = None
    """Where the suite is kept."""
    _ids_by_path: dict[Path, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all cases, in file order."""
        return self.read_ids(self.paths)

    def list_ids(self, apis: Collection[str] = (), patterns: Collection[str] = ()) -> tuple[str, ...]:
        """Return the ids in files that may have a case in `apis` (any if empty) matching any of `patterns`.

        The `patterns` come from `-k`; if there are none, all cases match.
        """
        return self.read_ids(
            path
            for path in self.paths
            if any(
                (not apis or prefix.partition("/")[0] in apis)
                and (not patterns or any(may_match_file(pattern, prefix) for pattern in patterns))
                for prefix in _list_prefixes(path)
            )
        )

    def list_ids_ending(self, name: str) -> tuple[str, ...]:
        """Return the ids in files that may contain a case whose id ends with `name`."""
        folder = "/" + name.rpartition("/")[0]
        if folder == "/":
            return self.ids
        return self.read_ids(
            path
            for path in self.paths
            if any(f"/{prefix}".endswith(folder) for prefix in _list_prefixes(path))
        )

    def load(self, ids: Collection[str] | None = None) -> tuple[AnyCase, ...]:
        """Return the cases in `ids` (all by default) in file order.

        Reads only their spec files and cassettes. Raises a `SourceError` that lists every problem in those
        files.
        """
        return tuple(self.load_suite(ids).cases)

    def load_suite(self, ids: Collection[str] | None = None) -> LoadResult:
        """Return the cases that `load` returns, and what is kept of their trials."""
        if ids is None:
            return load_suite(self.sources, self.paths, None, self.store)
        return load_suite(self.sources, self.find_files(ids), ids, self.store)

    def load_heads(self, ids: Collection[str]) -> tuple[CaseHead, ...]:
        """Return the heads of the cases in `ids`, in file order.

        Reads only their spec files. Raises a `SourceError` that lists every problem in those files.
        """
        return load_heads(self.sources, self.find_files(ids), ids, self.store)

    def find_files(self, ids: Collection[str]) -> list[Path]:
        """Return the spec files that contain any of the cases in `ids`."""
        prefixes = {id_.rpartition("/")[0] for id_ in ids}
        return [
            path
            for path in self.paths
            if not prefixes.isdisjoint(_list_prefixes(path)) and self._holds_any(path, ids)
        ]

    def _holds_any(self, path: Path, ids: Collection[str]) -> bool:
        return not frozenset(self.read_ids((path,))).isdisjoint(ids)

    def read_ids(self, paths: Iterable[Path]) -> tuple[str, ...]:
        """Return the ids of the cases in some of this catalog's spec files."""
        ids: list[str] = []
        for path in paths:
            if path not in self._ids_by_path:
                self._ids_by_path[path] = read_case_ids(path, self.store)
            ids += self._ids_by_path[path]
        return tuple(ids)


def read_catalog(sources: Sources) -> Catalog:
    """Return the catalog of the specs.

    Its methods raise `SourceError` if a spec that they must read is not valid YAML.
    """
    return Catalog(sources, tuple(list_files(sources)), find_store(sources.specs))


@cache
def _list_prefixes(path: Path) -> tuple[str, ...]:
    """Return the prefixes of the case ids in a spec file, without their last slash."""
    apis = tuple(APIS) if holds_all_apis(path) else (path.parent.name,)
    return tuple(f"{api}/{path.stem}" for api in apis)


def read_case_ids(path: Path, store: Store | None = None) -> tuple[str, ...]:
    """Return the ids of the cases in a spec file: kept ones, or else those in its text.

    It is parsed only if it is not in block style.
    """
    data = reader.read_file(path, str(path))
    kept = store and store.find(path, data)
    if kept:
        return tuple(case.id for case in kept.cases)
    if holds_all_apis(path):
        entries = _parse_entries(data, path)
        return tuple(
            f"{stream.api}/{path.stem}/{entry['id']}" for entry in entries for stream in list_streams(entry)
        )
    names = _scan_ids(data)
    # Parsing would take most of a listing's time, so only files in flow style or with unusual ids are parsed.
    if names is None:
        names = [str(entry["id"]) for entry in _parse_entries(data, path)]
    (prefix,) = _list_prefixes(path)
    return tuple(f"{prefix}/{name}" for name in names)


def _scan_ids(data: bytes) -> list[str] | None:
    """Return the ids of the items of `cases`, or None unless each item has its id on a separate line."""
    start = _CASES_KEY.search(data)
    if start is None:
        return None
    # In block style, everything inside an item is indented deeper than its dash, so nothing inside can look
    # like an item.
    indent = start[1]
    body = data[start.end() - len(indent) - 2 :]
    items = re.findall(rb"^%b- " % indent, body, re.MULTILINE)
    ids = re.findall(
        rb"""^%b(?:- |  )id:[ \t]+(["']?)([a-z0-9-]+)\1[ \t]*(?:#.*)?\r?$""" % indent, body, re.MULTILINE
    )
    return [name.decode() for _, name in ids] if len(ids) == len(items) else None


def _parse_entries(data: bytes, path: Path) -> list[dict[str, Any]]:
    """Return the cases that the YAML parser finds; one without an id is reported when the file is loaded."""
    value = reader.parse(data, str(path)).value
    cases = value.get("cases") if isinstance(value, dict) else None
    entries = cases if isinstance(cases, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and "id" in entry]
