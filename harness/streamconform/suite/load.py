"""Load specs into cases; report all mistakes in all files together, each with its line number."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.case import NOTHING_EXPECTED, AnyCase, CallCase, Case, CaseHead, RoundTripCase, Skip
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Usage
from streamconform.model.trial import get_current_name
from streamconform.suite import cassettes, documents, expectation, pulled, request_expectation
from streamconform.suite.compiled import (
    CheckedDocument,
    Compiled,
    ReadChecked,
    open_compiled,
    read_checked,
)
from streamconform.suite.expand import TrialNames, list_trial_names
from streamconform.yaml_text import reader

COMMON: Final = "common"
"""The folder of specs that belong to no API."""
_DEFAULT_KIND: Final = "stream"
"""The default kind, for a spec with no `kind` key."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The folders that contain specs and cassettes."""

    specs: Path
    cassettes: Path
    corpus: Path | None = None
    """The folder of pulled recordings; if None, the specs based on them are left out."""


@dataclass(slots=True)
class LoadResult:
    """The cases that were loaded, and the problems with those that were not."""

    cases: list[AnyCase] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    used: set[tuple[str, str]] = field(default_factory=set)
    """The (API, cassette name) pair of every cassette that a case names."""
    keys: dict[str, str] = field(default_factory=dict)
    """By case id, a digest of the files that a case is made from; cases without bytes have none."""


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """Cases, and what is kept of their trials."""

    cases: tuple[AnyCase, ...]
    keys: Mapping[str, str]
    compiled: Compiled | None

    def find_names(self, case: Case | RoundTripCase) -> TrialNames | None:
        """Return the names of a case's trials, or None if they are not kept."""
        key = self.keys.get(case.id)
        if self.compiled is None or key is None:
            return None
        return self.compiled.remember(key, TrialNames, lambda: list_trial_names(case))

    def keep(self, *, is_whole: bool) -> None:
        """Keep what was made; if this `is_whole` of the suite, what was not used is dropped."""
        if self.compiled is not None:
            self.compiled.keep(only_used=is_whole)


def load(
    sources: Sources, files: Sequence[Path] | None = None, ids: Collection[str] | None = None
) -> tuple[AnyCase, ...]:
    """Return the cases in `ids` from `files`, in file order; by default, every case in every file.

    Raises a `SourceError` that lists every problem in the files, and in the cassettes that these cases name.
    """
    return load_suite(sources, files, ids).cases


def load_suite(
    sources: Sources, files: Sequence[Path] | None = None, ids: Collection[str] | None = None
) -> LoadedSuite:
    """Return the cases that `load` returns, and what is kept of their trials. Raises `SourceError`."""
    if files is None:
        files = list_spec_files(sources.specs, recorded=sources.corpus is not None)
    compiled = open_compiled(sources.specs, files)
    result = _load_files(sources, files, ids, read_checked if compiled is None else compiled.read).result
    if result.problems:
        raise SourceError(tuple(result.problems))
    suite = LoadedSuite(tuple(result.cases), result.keys, compiled)
    suite.keep(is_whole=False)
    return suite


def compile_suite(sources: Sources, path: Path) -> None:
    """Write to `path` what is kept of a suite, including the specs about pulled recordings.

    Raises a `SourceError` that lists every problem in the files.
    """
    compiled = Compiled({}, path)
    files = list_spec_files(sources.specs, recorded=True)
    result = _load_files(sources, files, None, compiled.read).result
    if result.problems:
        raise SourceError(tuple(result.problems))
    suite = LoadedSuite(tuple(result.cases), result.keys, compiled)
    for case in suite.cases:
        if not isinstance(case, CallCase):
            suite.find_names(case)
    compiled.keep()


def load_heads(sources: Sources, files: Sequence[Path], ids: Collection[str]) -> tuple[CaseHead, ...]:
    """Return the heads of the cases in `ids` from `files`; no cassette is read.

    Raises a `SourceError` that lists every problem in the files.
    """
    compiled = open_compiled(sources.specs, files)
    loader = _Loader(sources, ids, read_checked if compiled is None else compiled.read)
    heads = [head for path in files for head in loader.read_heads(path)]
    if loader.result.problems:
        raise SourceError(tuple(loader.result.problems))
    if compiled is not None:
        compiled.keep()
    return tuple(heads)


def list_spec_files(folder: Path, *, recorded: bool = False) -> list[Path]:
    """Return the spec files in the subfolders of `folder` that are named after an API, and in `common`.

    Specs about pulled recordings are included only if `recorded`; otherwise they are not read.
    """
    if not folder.is_dir():
        raise SelectionError(
            f"`{folder}` is not a folder; `--specs` expects a folder with one subfolder per API"
        )
    # Other folders of a suite contain YAML files that are not specs: evidence, profiles, scenarios and
    # shapes.
    paths = (path for name in (*APIS, COMMON) for path in sorted((folder / name).glob("*.yaml")))
    return [path for path in paths if recorded or not path.name.startswith(pulled.PREFIX)]


def collect(sources: Sources, files: Sequence[Path], ids: Collection[str] | None = None) -> LoadResult:
    """Return the cases in `files`, and every problem in the files and in the cassettes that the cases name.

    With `ids`, each file is still checked completely, but only these cases are built and only their cassettes
    are read.
    """
    return _load_files(sources, files, ids, read_checked).result


def _load_files(
    sources: Sources, files: Sequence[Path], ids: Collection[str] | None, read: ReadChecked
) -> _Loader:
    loader = _Loader(sources, ids, read)
    for path in files:
        loader.load_file(path)
    return loader


class _Loader:
    """Loads spec files one by one into `result`; a cassette that several cases name is read once."""

    def __init__(self, sources: Sources, ids: Collection[str] | None, read: ReadChecked) -> None:
        self.result = LoadResult()
        self._sources, self._ids, self._read = sources, ids, read
        self._cassettes: dict[tuple[str, str], Cassette | None] = {}
        self._cassette_keys: dict[tuple[str, str], str] = {}

    def load_file(self, path: Path) -> None:
        """Load the cases of a file."""
        document = self._read_file(path)
        if document is None:
            return
        match document.value.get("kind", _DEFAULT_KIND):
            case "stream" | "document":
                self._load_stream_cases(document)
            case "round_trip":
                self._load_round_trips(document)
            case _:
                self._load_call_cases(document)

    def read_heads(self, path: Path) -> list[CaseHead]:
        """Return the heads of the cases in a file."""
        document = self._read_file(path)
        if document is None:
            return []
        api = document.value.get("api")
        return [CaseHead(api=api, **_read_head(document, i)) for i, _ in self._select_entries(document)]

    def _read_file(self, path: Path) -> CheckedDocument | None:
        """Return a valid spec, or None after reporting what is wrong with it."""
        try:
            document = self._read(path, "spec.v1")
        except SourceError as error:
            self.result.problems += error.problems
            return None
        # Done only if the file matches the schema, because these checks rely on its types.
        problems = [*_check_names(path, document), *_check_matchers(document)]
        self.result.problems += problems
        return None if problems else document

    def _select_entries(self, document: CheckedDocument) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the entry of each case to load, with its index in the file."""
        for i, entry in enumerate(document.value["cases"]):
            if self._ids is None or _build_case_id(document.value, entry) in self._ids:
                yield i, entry

    def _load_stream_cases(self, document: CheckedDocument) -> None:
        """Load cases of kind `stream` or `document`."""
        stream = document.value.get("kind", _DEFAULT_KIND) == "stream"
        for i, entry in self._select_entries(document):
            value_path = ("cases", i, "cassette")
            if "source" in document.value:
                self._load_pulled_case(document, i, entry)
                continue
            cassette = self._load_cassette(document, entry["cassette"], value_path)
            if cassette is not None and not stream:
                cassette = self._take_document(document, cassette, value_path)
            if cassette is not None:
                case = _build_stream_case(entry, cassette, _read_head(document, i))
                self.result.cases.append(case if stream else replace(case, stream=False))
                self._add_key(case.id, document, i, (entry["cassette"],))

    def _load_pulled_case(self, document: CheckedDocument, i: int, entry: Mapping[str, Any]) -> None:
        """Load a case based on a pulled recording, with a reason to skip it if its source was not pulled."""
        spec, recording = document.value, entry["cassette"]
        origin = pulled.parse_origin(spec["source"], recording)
        key = spec["api"], entry["id"]
        corpus = self._sources.corpus
        try:
            # Most users have not pulled any source, so a missing source only skips the case; a damaged one is
            # an error.
            cassette = corpus and pulled.load_pulled(corpus, *key, origin, recording["sha256"])
        except SourceError as error:
            problem = document.problem(("cases", i, "cassette"), f"recording `{entry['id']}` cannot be used")
            self.result.problems += [problem, *error.problems]
            return
        case = _build_stream_case(
            entry, cassette or pulled.make_placeholder(*key, origin), _read_head(document, i)
        )
        self.result.cases.append(case if cassette else replace(case, unavailable=pulled.NOT_PULLED))

    def _take_document(
        self, document: CheckedDocument, cassette: Cassette, value_path: reader.ValuePath
    ) -> Cassette | None:
        """Return the non-streaming exchange of `cassette`, or None after reporting that there is none."""
        whole = documents.take_document(cassette)
        if whole is None:
            message = (
                f"cassette `{cassette.name}` has only a stream; a case of kind `document` needs"
                f" `twin` in the cassette, or a request that does not ask for a stream and a body in"
                f" `{cassette.name}.json`"
            )
            self.result.problems.append(document.problem(value_path, message))
        return whole

    def _load_round_trips(self, document: CheckedDocument) -> None:
        for i, entry in self._select_entries(document):
            first, second = (
                self._load_cassette(document, name, ("cases", i, "cassettes", n))
                for n, name in enumerate(entry["cassettes"])
            )
            if first is not None and second is not None:
                head = _read_head(document, i)
                self.result.cases.append(_build_round_trip(entry, first, second, head))
                self._add_key(head["id"], document, i, entry["cassettes"])

    def _load_call_cases(self, document: CheckedDocument) -> None:
        spec = document.value
        is_request = spec["kind"] == "request"
        parse = request_expectation.parse if is_request else expectation.parse_output
        self.result.cases += [
            CallCase(
                api=spec.get("api"),
                kind=spec["kind"],
                input=entry["conversation" if is_request else "input"],
                expect=parse(entry["expect"]),
                **_read_head(document, i),
            )
            for i, entry in self._select_entries(document)
        ]

    def _load_cassette(
        self, document: CheckedDocument, name: str, value_path: reader.ValuePath
    ) -> Cassette | None:
        """Return the cassette `name`, or None if it is invalid; its problems are reported on first use."""
        key = (document.value["api"], name)
        self.result.used.add(key)
        if key not in self._cassettes:
            self._cassettes[key] = None
            try:
                metadata = cassettes.read_metadata(self._sources.cassettes, *key, self._read)
                self._cassette_keys[key] = metadata.key
                self._cassettes[key] = cassettes.build(*key, metadata)
            except SourceError as error:
                problem = document.problem(value_path, f"cassette `{name}` cannot be used")
                self.result.problems += [problem, *error.problems]
        return self._cassettes[key]

    def _add_key(self, case_id: str, document: CheckedDocument, i: int, names: Iterable[str]) -> None:
        """Add a case's key: that of its spec, its index there, and the keys of its cassettes."""
        # A cassette's file has the digests of its bodies, which were compared with them.
        keys = (self._cassette_keys[document.value["api"], name] for name in names)
        text = "/".join((document.key, str(i), *keys))
        self.result.keys[case_id] = hashlib.sha256(text.encode()).hexdigest()


def _check_names(path: Path, document: CheckedDocument) -> Iterator[Problem]:
    """Yield a problem if `api`, `topic` or an id contradicts the path or an earlier id."""
    spec, folder = document.value, path.parent.name
    api = spec.get("api")
    if api is not None and api != folder:
        yield document.problem(("api",), f"`api` is `{api}`, but the folder is `{folder}`; they must match")
    if api is None and folder != COMMON:
        message = (
            f"specs of kind `{spec['kind']}` belong to no API; move the file from `{folder}` to `{COMMON}`"
        )
        yield document.problem(("kind",), message)
    # `suite.catalog` takes the API and the topic of an id from the path, without parsing the file.
    if spec["topic"] != path.stem:
        message = f"`topic` is `{spec['topic']}`, but the file is `{path.name}`; they must match"
        yield document.problem(("topic",), message)
    yield from _check_source(document)
    first: dict[str, int] = {}
    for i, entry in enumerate(spec["cases"]):
        if first.setdefault(entry["id"], i) != i:
            line = document.line(("cases", first[entry["id"]], "id"))
            message = f"duplicate case `{entry['id']}`, first defined on line {line}"
            yield document.problem(("cases", i, "id"), message)


def _check_source(document: CheckedDocument) -> Iterator[Problem]:
    """Yield a problem if `source`, the topic and the cases disagree about whether recordings are pulled."""
    spec = document.value
    source = spec.get("source")
    if source is None and spec["topic"].startswith(pulled.PREFIX):
        message = f"topics that begin with `{pulled.PREFIX}` are about pulled recordings; `source` is missing"
        yield document.problem(("topic",), message)
    topic = spec["topic"] if source is None else pulled.make_topic(source["name"])
    if spec["topic"] != topic:
        message = f"recordings from `{source['name']}` must have the topic `{topic}`"
        yield document.problem(("topic",), message)
    if source is not None and spec.get("kind", _DEFAULT_KIND) != _DEFAULT_KIND:
        yield document.problem(("kind",), f"pulled recordings must be of kind `{_DEFAULT_KIND}`")
    for i, entry in enumerate(spec["cases"]):
        if "cassette" in entry and isinstance(entry["cassette"], Mapping) != (source is not None):
            needed = "{file, entry, sha256}" if source is not None else "a name, without `source`"
            yield document.problem(("cases", i, "cassette"), f"expected {needed}")


def _check_matchers(document: CheckedDocument) -> Iterator[Problem]:
    """Yield the invalid matchers in expected requests."""
    kind = document.value.get("kind", _DEFAULT_KIND)
    expect_path = {"request": ("expect",), "round_trip": ("expect", "request")}.get(kind, ())
    for i, entry in enumerate(document.value["cases"] if expect_path else ()):
        expect = entry["expect"] if kind == "request" else entry["expect"]["request"]
        for name in ("must", "may"):
            for path, message in request_expectation.find_matcher_errors(expect.get(name, {}), (name,)):
                value_path = ("cases", i, *expect_path, *path)
                yield document.problem(value_path, f"`{'.'.join(map(str, path))}`: {message}")


def _read_head(document: CheckedDocument, index: int) -> dict[str, Any]:
    """Return the fields of `CaseHead` except the API; cases of all kinds share them."""
    spec = document.value
    entry = spec["cases"][index]
    return {
        "id": _build_case_id(spec, entry),
        "title": entry["title"],
        "level": entry.get("level", "must"),
        "why": entry.get("why"),
        "reviewed": entry.get("reviewed", True),
        "tags": frozenset(entry.get("tags", ())),
        "evidence": tuple(entry.get("evidence", ())),
        "sources": tuple(entry.get("sources", ())),
        "guards": tuple(entry.get("guards", ())),
        "path": document.path,
        "line": document.case_lines[index],
    }


def _build_case_id(spec: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    return f"{spec.get('api', COMMON)}/{spec['topic']}/{entry['id']}"


def _build_stream_case(entry: Mapping[str, Any], cassette: Cassette, head: Mapping[str, Any]) -> Case:
    skip = entry.get("skip")
    return Case(
        api=cassette.api,
        cassette=cassette,
        expect=expectation.parse(entry["expect"]),
        pricing=entry.get("pricing"),
        usage_seen=tuple(Usage(**usage) for usage in entry.get("usage_seen", ())),
        models_seen=tuple(entry.get("models_seen", ())),
        seen_in=entry.get("seen_in"),
        skip=None if skip is None else _parse_skip(skip),
        **head,
    )


def _parse_skip(skip: Mapping[str, Any]) -> Skip:
    deliveries = frozenset(map(get_current_name, skip.get("deliveries", ())))
    return Skip(skip["why"], deliveries, frozenset(skip.get("faults", ())))


def _build_round_trip(
    entry: Mapping[str, Any], first: Cassette, second: Cassette, head: Mapping[str, Any]
) -> RoundTripCase:
    expect, shared = entry["expect"], {"pricing": entry.get("pricing"), **head}
    first_expect = expectation.parse(expect["first"]) if "first" in expect else NOTHING_EXPECTED
    second_expect = expectation.parse(expect["outcome"])
    return RoundTripCase(
        api=first.api,
        first=Case(api=first.api, cassette=first, expect=first_expect, **shared),
        second=Case(api=second.api, cassette=second, expect=second_expect, **shared),
        conversation=entry["conversation"],
        results=tuple(entry["results"]),
        request=request_expectation.parse(expect["request"]),
        **head,
    )
