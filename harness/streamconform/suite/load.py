"""Load specs into cases; report all mistakes in all files together, each with its line number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from streamconform.apis import APIS
from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.case import AnyCase, CaseHead
from streamconform.model.cassette import Cassette
from streamconform.schemas import parse_checked
from streamconform.suite import cassettes, documents, pulled, request_expectation, scripts
from streamconform.suite.build import (
    COMMON,
    DEFAULT_KIND,
    build_case,
    build_case_id,
    build_stream_case,
    get_kind,
    list_cassettes,
    read_head,
)
from streamconform.suite.compiled import KeptSpec, Store, build_kept, describe_spec, find_store
from streamconform.suite.expand import TrialNames
from streamconform.suite.sizes import KIND, build_sized_case, holds_all_apis, list_streams
from streamconform.yaml_text import reader
from streamconform.yaml_text.reader import ValuePath


class Sources(Struct, frozen=True):
    """The folders that contain specs and cassettes."""

    specs: Path
    cassettes: Path
    corpus: Path | None = None
    """The folder of pulled recordings; if None, the specs based on them are left out."""
    sizes: bool = False
    """Whether the cases about sizes are included."""


class LoadResult(Struct):
    """The cases that were loaded, and the problems with those that were not."""

    cases: list[AnyCase] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    used: set[tuple[str, str]] = field(default_factory=set)
    """The (API, cassette name) pair of every cassette that a case names, unless it is kept."""
    names: dict[str, TrialNames] = field(default_factory=dict)
    """By case id, the names of the case's trials, if they are kept."""


def load(
    sources: Sources, files: Sequence[Path] | None = None, ids: Collection[str] | None = None
) -> tuple[AnyCase, ...]:
    """Return the cases in `ids` from `files`, in file order; by default, every case in every file.

    Raises a `SourceError` that lists every problem in the files, and in the cassettes that these cases name.
    """
    return tuple(load_suite(sources, files, ids, find_store(sources.specs)).cases)


def load_suite(
    sources: Sources, files: Sequence[Path] | None, ids: Collection[str] | None, store: Store | None
) -> LoadResult:
    """Return the cases that `load` returns, and what is kept of their trials. Raises `SourceError`."""
    if files is None:
        files = list_files(sources)
    return _raise_problems(_load_files(sources, files, ids, store))


def compile_suite(sources: Sources, folder: Path) -> None:
    """Write to `folder` what is kept of a suite, including the specs about pulled recordings.

    Raises a `SourceError` that lists every problem in the files.
    """
    files = list_spec_files(sources.specs, recorded=True)
    _raise_problems(_load_files(sources, files, None, Store(folder)))


def load_heads(
    sources: Sources, files: Sequence[Path], ids: Collection[str], store: Store | None = None
) -> tuple[CaseHead, ...]:
    """Return the heads of the cases in `ids` from `files`; no cassette is read.

    Raises a `SourceError` that lists every problem in the files.
    """
    loader = _Loader(sources, ids, store)
    heads = tuple(head for path in files for head in loader.read_heads(path))
    _raise_problems(loader.result)
    return heads


def _raise_problems(result: LoadResult) -> LoadResult:
    """Return `result`. Raises a `SourceError` if there are problems."""
    if result.problems:
        raise SourceError(tuple(result.problems))
    return result


def list_files(sources: Sources) -> list[Path]:
    """Return the spec files that `sources` include."""
    return list_spec_files(sources.specs, recorded=sources.corpus is not None, sizes=sources.sizes)


def list_spec_files(folder: Path, *, recorded: bool = False, sizes: bool = False) -> list[Path]:
    """Return the spec files in the subfolders of `folder` that are named after an API, and in `common`.

    Specs about pulled recordings are included only if `recorded`, and the one about sizes only if `sizes`;
    otherwise they are not read.
    """
    if not folder.is_dir():
        raise SelectionError(
            f"`{folder}` is not a folder; `--specs` expects a folder with one subfolder per API"
        )
    # Other folders of a suite contain YAML files that are not specs: evidence, profiles, scenarios and
    # shapes.
    paths = (path for name in (*APIS, COMMON) for path in sorted((folder / name).glob("*.yaml")))
    return [
        path
        for path in paths
        if (recorded or not path.name.startswith(pulled.PREFIX)) and (sizes or not holds_all_apis(path))
    ]


def collect(sources: Sources, files: Sequence[Path], ids: Collection[str] | None = None) -> LoadResult:
    """Return the cases in `files`, and every problem in the files and in the cassettes that the cases name.

    With `ids`, each file is still checked completely, but only these cases are built and only their cassettes
    are read.
    """
    return _load_files(sources, files, ids, None)


def _load_files(
    sources: Sources, files: Sequence[Path], ids: Collection[str] | None, store: Store | None
) -> LoadResult:
    loader = _Loader(sources, ids, store)
    for path in files:
        loader.load_file(path)
    return loader.result


class _Loader:
    """Loads spec files one by one into `result`; a cassette that several cases name is read once."""

    def __init__(self, sources: Sources, ids: Collection[str] | None, store: Store | None) -> None:
        self.result = LoadResult()
        self._sources, self._ids, self._store = sources, ids, store
        self._metadata: dict[tuple[str, str], cassettes.Metadata] = {}
        self._cassettes: dict[tuple[str, str], Cassette | None] = {}

    def load_file(self, path: Path) -> None:
        """Load the cases of a file: from what is kept of it, or else from the file, and keep them."""
        data = self._read_bytes(path)
        if data is None:
            return
        key = scripts.join_files(self._sources.specs, path, data)
        kept = self._find_kept(path, key)
        if kept is not None and self._add_kept(path, kept):
            return
        document = self._check_file(path, data)
        if document is None:
            return
        cases, problems = len(self.result.cases), len(self.result.problems)
        self._load_cases(document)
        made = self.result.cases[cases:]
        is_whole = len(made) == len(document.value["cases"]) and len(self.result.problems) == problems
        if self._store is not None and is_whole and get_kind(document.value) != KIND:
            kept = describe_spec(document, key, made, self._metadata)
            self._store.keep(path, kept)
            self._add_names(kept)

    def read_heads(self, path: Path) -> list[CaseHead]:
        """Return the heads of the cases in a file."""
        data = self._read_bytes(path)
        if data is None:
            return []
        kept = self._find_kept(path, scripts.join_files(self._sources.specs, path, data))
        document = self._check_file(path, data) if kept is None else kept.to_document(str(path))
        if document is None:
            return []
        return [
            CaseHead(**_read_head(document, i, entry, api))
            for i, entry, api in self._select_entries(document)
        ]

    def _read_bytes(self, path: Path) -> bytes | None:
        """Return the content of a spec, or None after reporting why it cannot be read."""
        try:
            return reader.read_file(path, str(path))
        except SourceError as error:
            self.result.problems += error.problems
            return None

    def _find_kept(self, path: Path, data: bytes) -> KeptSpec | None:
        return None if self._store is None else self._store.find(path, data)

    def _add_kept(self, path: Path, kept: KeptSpec) -> bool:
        """Add the cases of a kept spec; return whether they can be used."""
        if "source" in kept.spec:
            problems = len(self.result.problems)
            self._load_cases(kept.to_document(str(path)))
            is_usable = len(self.result.problems) == problems
            del self.result.problems[problems:]  # the file is read again, for the lines of the problems
            return is_usable
        cases = build_kept(kept, path, self._ids, self._sources.cassettes)
        if cases is None:
            return False
        self.result.cases += cases
        self._add_names(kept)
        return True

    def _add_names(self, kept: KeptSpec) -> None:
        self.result.names |= {case.id: case.names for case in kept.cases if case.names is not None}

    def _check_file(self, path: Path, data: bytes) -> reader.Document | None:
        """Return a valid spec, or None after reporting what is wrong with it."""
        try:
            document = parse_checked(data, str(path), "spec.v1")
        except SourceError as error:
            self.result.problems += error.problems
            return None
        # Done only if the file matches the schema, because these checks rely on its types.
        problems = [*_check_names(path, document), *_check_turns(document), *_check_matchers(document)]
        self.result.problems += problems
        if problems or get_kind(document.value) != scripts.KIND:
            return None if problems else document
        try:
            return scripts.add_scripts(self._sources.specs, document)
        except SourceError as error:
            self.result.problems += error.problems
            return None

    def _select_entries(self, document: reader.Document) -> Iterator[tuple[int, dict[str, Any], str | None]]:
        """Yield the entry of each case to load, with its index in the file, and its API."""
        spec = document.value
        is_sized = get_kind(spec) == KIND
        for i, entry in enumerate(spec["cases"]):
            apis = [stream.api for stream in list_streams(entry)] if is_sized else [spec.get("api")]
            for api in apis:
                if self._ids is None or build_case_id(spec, entry, api) in self._ids:
                    yield i, entry, api

    def _load_cases(self, document: reader.Document) -> None:
        spec = document.value
        for i, entry, api in self._select_entries(document):
            if get_kind(spec) == KIND:
                self._load_sized_case(document, i, entry, api or "")
                continue
            if "source" in spec:
                self._load_pulled_case(document, i, entry)
                continue
            found = [
                self._load_cassette(document, spec["api"], name, ("cases", i, *place))
                for place, name in list_cassettes(entry).items()
            ]
            used = [cassette for cassette in found if cassette is not None]
            if len(used) == len(found):
                self.result.cases.append(build_case(spec, entry, _read_head(document, i, entry, api), used))

    def _load_pulled_case(self, document: reader.Document, i: int, entry: Mapping[str, Any]) -> None:
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
        self.result.cases.append(
            build_stream_case(
                entry,
                cassette or pulled.make_placeholder(*key, origin),
                _read_head(document, i, entry, spec["api"]),
                unavailable=None if cassette else pulled.NOT_PULLED,
            )
        )

    def _load_sized_case(self, document: reader.Document, i: int, entry: Mapping[str, Any], api: str) -> None:
        """Load a case about sizes for one API."""
        stream = next(stream for stream in list_streams(entry) if stream.api == api)
        cassette = self._load_cassette(document, api, stream.cassette, ("cases", i))
        if cassette is not None:
            head = _read_head(document, i, entry, api) | {
                "guards": tuple(entry.get("guards", {}).get(api, ()))
            }
            self.result.cases.append(build_sized_case(entry, stream, cassette, head))

    def _load_cassette(
        self, document: reader.Document, api: str, name: str, value_path: reader.ValuePath
    ) -> Cassette | None:
        """Return the cassette `name`, or None if it cannot be used.

        The problems of its files are reported on first use.
        """
        key = (api, name)
        self.result.used.add(key)
        if key not in self._cassettes:
            self._cassettes[key] = None
            try:
                self._metadata[key] = metadata = cassettes.read_metadata(self._sources.cassettes, *key)
                self._cassettes[key] = cassettes.build(*key, metadata.document)
            except SourceError as error:
                problem = document.problem(value_path, f"cassette `{name}` cannot be used")
                self.result.problems += [problem, *error.problems]
        cassette = self._cassettes[key]
        if cassette is not None and get_kind(document.value) == "document":
            return self._take_document(document, cassette, value_path)
        return cassette

    def _take_document(
        self, document: reader.Document, cassette: Cassette, value_path: reader.ValuePath
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


def _read_head(
    document: reader.Document, index: int, entry: Mapping[str, Any], api: str | None
) -> dict[str, Any]:
    return read_head(document.value, entry, document.path, document.line(("cases", index)) or 0, api)


def _check_names(path: Path, document: reader.Document) -> Iterator[Problem]:
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
    if (spec["topic"] == scripts.TOPIC) != (get_kind(spec) == scripts.KIND):
        message = f"specs of kind `{scripts.KIND}`, and no others, have the topic `{scripts.TOPIC}`"
        yield document.problem(("topic",), message)
    first: dict[str, int] = {}
    for i, entry in enumerate(spec["cases"]):
        if first.setdefault(entry["id"], i) != i:
            line = document.line(("cases", first[entry["id"]], "id"))
            message = f"duplicate case `{entry['id']}`, first defined on line {line}"
            yield document.problem(("cases", i, "id"), message)


def _check_source(document: reader.Document) -> Iterator[Problem]:
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
    if source is not None and get_kind(spec) != DEFAULT_KIND:
        yield document.problem(("kind",), f"pulled recordings must be of kind `{DEFAULT_KIND}`")
    for i, entry in enumerate(spec["cases"]):
        if "cassette" in entry and isinstance(entry["cassette"], Mapping) != (source is not None):
            needed = "{file, entry, sha256}" if source is not None else "a name, without `source`"
            yield document.problem(("cases", i, "cassette"), f"expected {needed}")


def _check_matchers(document: reader.Document) -> Iterator[Problem]:
    """Yield the mistakes in expected requests: invalid matchers and alternatives."""
    for i, entry in enumerate(document.value["cases"]):
        for expect_path, expect in _list_requests(get_kind(document.value), entry):
            for path, message in request_expectation.find_errors(expect):
                value_path = ("cases", i, *expect_path, *path)
                yield document.problem(value_path, f"`{'.'.join(map(str, path))}`: {message}")


def _list_requests(kind: str, entry: Mapping[str, Any]) -> Iterator[tuple[ValuePath, Mapping[str, Any]]]:
    """Yield each expected request of a case, with its place in the entry."""
    match kind:
        case "request":
            yield ("expect",), entry["expect"]
        case "round_trip":
            yield ("expect", "request"), entry["expect"]["request"]
        case "replay":
            for i, turn in enumerate(entry["turns"]):
                yield ("turns", i, "request"), turn.get("request", {})
        case _:
            pass


def _check_turns(document: reader.Document) -> Iterator[Problem]:
    """Yield the replays without exactly one answer more than there are turns."""
    for i, entry in enumerate(document.value["cases"] if get_kind(document.value) == "replay" else ()):
        answers, turns = len(entry["cassettes"]), len(entry["turns"])
        if answers != turns + 1:
            message = f"{turns} turns need {turns + 1} cassettes, but there are {answers}"
            yield document.problem(("cases", i, "cassettes"), message)
