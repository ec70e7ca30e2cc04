"""Keep what was parsed: one file per spec, with the metadata of its cassettes, that a run starts from.

YAML stays the source. Every file is still read, and what is kept is used only if it has the digests of these
files, so a file that was changed is always seen. A kept file begins with a digest of the code that parses and
of the content: after a change of the code, or any damage, the spec is parsed again. It holds only data. What
selecting does not need of a case is decoded when one of its trials runs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from streamconform.files import read_regular, write_atomically
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Level
from streamconform.model.cassette import Cassette
from streamconform.resources import find_bundled
from streamconform.suite.build import build_case, get_kind, list_cassettes, read_head
from streamconform.suite.cassettes import MAX_BODY, Metadata, make_cassette
from streamconform.suite.documents import take_document
from streamconform.suite.expand import TrialNames, list_trial_names
from streamconform.suite.lazy import LazyCallCase, LazyCase, LazyCassette, make_later
from streamconform.user_cache import find_user_cache
from streamconform.yaml_text.reader import Document, ValuePath

NAME: Final = "suite"
"""The name of the folder next to the folder of specs, where the wheel has what is kept."""
FOLDER: Final = "suites"
"""The name of the subfolder of the user's cache for what is kept of checkouts."""
_MAX_BYTES: Final = 256 * 1024 * 1024
_DIGEST_SIZE: Final = 32
_PARSERS: Final = ("model", "yaml_text", "wire", "apis", "schemas", "delivery", "suite")
"""The packages whose code determines what is kept."""


class KeptCassette(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a cassette."""

    files: tuple[tuple[str, str], ...]
    """The name and digest of its YAML file, its body, and its twin if it has one."""
    metadata: bytes
    """The content of the YAML file as JSON, which has integers of any size."""


class KeptCase(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a case: what selecting needs, and the whole entry."""

    id: str
    level: Level
    tags: tuple[str, ...]
    line: int
    cassettes: tuple[str, ...]
    names: TrialNames | None
    """The names of its trials; a call and a behavior have none, and pulled recordings may be missing."""
    entry: bytes
    """JSON."""


class KeptSpec(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a spec without a problem."""

    sha256: str
    """The digest of the YAML file."""
    spec: dict[str, Any]
    """The spec without its cases."""
    cassettes: dict[str, KeptCassette]
    cases: tuple[KeptCase, ...]

    def to_document(self, path: str) -> Document:
        """Return the spec, with the lines of its cases."""
        entries = [msgspec.json.decode(case.entry) for case in self.cases]
        lines: dict[ValuePath, int] = {("cases", i): case.line for i, case in enumerate(self.cases)}
        return Document(path, self.spec | {"cases": entries}, lines)


class Store:
    """The folders of kept files: they are read from any, and written to the last one."""

    def __init__(self, *folders: Path) -> None:
        """Accept the folders in the order of preference."""
        self._folders = tuple(map(str, folders))
        self._found: dict[Path, KeptSpec] = {}

    def find(self, spec: Path, data: bytes) -> KeptSpec | None:
        """Return what is kept of `spec`, or None if this code kept nothing of a spec with these bytes."""
        sha256 = hashlib.sha256(data).hexdigest()
        found = self._found.get(spec) or self._read(spec, sha256)
        if found is None or found.sha256 != sha256:
            return None
        self._found[spec] = found
        return found

    def _read(self, spec: Path, sha256: str) -> KeptSpec | None:
        for folder in self._folders:
            try:
                data = read_regular(_make_path(folder, spec), _MAX_BYTES)
            except OSError:
                continue
            content = memoryview(data)[_DIGEST_SIZE:]
            if data.startswith(_compute_digest(content)):
                kept = _DECODER.decode(content)
                if kept.sha256 == sha256:
                    return kept
        return None

    def keep(self, spec: Path, kept: KeptSpec) -> None:
        """Write what is kept of `spec`; if that is not possible, the next run parses it again."""
        content = msgspec.msgpack.encode(kept)
        path = Path(_make_path(self._folders[-1], spec))
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, _compute_digest(content) + content)


_DECODER: Final = msgspec.msgpack.Decoder(KeptSpec)


def find_store(specs: Path) -> Store | None:
    """Return where the bundled suite is kept.

    Other suites are not kept, because their files would stay in the cache forever.
    """
    if specs != find_bundled("specs"):
        return None
    name = hashlib.sha256(str(specs).encode()).hexdigest()[:16]
    return Store(specs.parent / NAME, find_user_cache(None) / FOLDER / name)


def describe_spec(
    document: Document, data: bytes, cases: Sequence[AnyCase], metadata: Mapping[tuple[str, str], Metadata]
) -> KeptSpec:
    """Return what to keep of a spec without a problem; `metadata` has that of cassettes, by API and name."""
    spec = {key: value for key, value in document.value.items() if key != "cases"}
    pulled = "source" in spec
    kept_cases = tuple(
        KeptCase(
            case.id,
            case.level,
            tuple(sorted(case.tags)),
            case.line,
            () if pulled else tuple(list_cassettes(entry).values()),
            None if pulled or isinstance(case, BehaviorCase | CallCase) else list_trial_names(case),
            msgspec.json.encode(entry),
        )
        for case, entry in zip(cases, document.value["cases"], strict=True)
    )
    names = dict.fromkeys(name for case in kept_cases for name in case.cassettes)
    cassettes = {name: _describe_cassette(name, metadata[spec["api"], name]) for name in names}
    return KeptSpec(hashlib.sha256(data).hexdigest(), spec, cassettes, kept_cases)


def _describe_cassette(name: str, metadata: Metadata) -> KeptCassette:
    value = metadata.document.value
    bodies = [(value[key]["body"], value[key]["sha256"]) for key in ("response", "twin") if key in value]
    return KeptCassette(((f"{name}.yaml", metadata.sha256), *bodies), msgspec.json.encode(value))


def build_kept(kept: KeptSpec, path: Path, ids: Collection[str] | None, folder: Path) -> list[AnyCase] | None:
    """Return the cases in `ids` of a kept spec, or None if a file of one of their cassettes has changed."""
    chosen = [case for case in kept.cases if ids is None or case.id in ids]
    cassettes: dict[str, LazyCassette] = {}
    for name in dict.fromkeys(name for case in chosen for name in case.cassettes):
        cassette = _read_cassette(kept.spec, folder, name, kept.cassettes[name])
        if cassette is None:
            return None
        cassettes[name] = cassette
    return [
        _build_later(kept.spec, case, str(path), [cassettes[name] for name in case.cassettes])
        for case in chosen
    ]


def _read_cassette(
    spec: Mapping[str, Any], folder: Path, name: str, kept: KeptCassette
) -> LazyCassette | None:
    """Return a cassette, or None if one of its files is not the one that was kept."""
    api, is_document = spec["api"], get_kind(spec) == "document"
    contents = [_read_unchanged(f"{folder}/{api}/{file}", sha256) for file, sha256 in kept.files]
    if None in contents:
        return None
    body, twin = contents[1] or b"", contents[2] if len(contents) > 2 else None

    def make() -> Cassette | None:
        made = make_cassette(api, name, msgspec.json.decode(kept.metadata), body, twin)
        return take_document(made) if is_document else made

    # The fields that are needed without the others. All have to be given that have a default.
    answer = twin if is_document and twin is not None else body
    return make_later(LazyCassette, make, api=api, name=name, body=answer, twin=None if is_document else twin)


def _read_unchanged(path: str, sha256: str) -> bytes | None:
    """Return the content of a file, or None if it does not have this digest."""
    try:
        data = read_regular(path, MAX_BODY)
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None


def _build_later(
    spec: Mapping[str, Any], kept: KeptCase, path: str, cassettes: Sequence[Cassette]
) -> AnyCase:
    """Return a case, of which only what selecting needs is made at once."""

    def make() -> AnyCase:
        entry = msgspec.json.decode(kept.entry)
        return build_case(spec, entry, read_head(spec, entry, path, kept.line, spec.get("api")), cassettes)

    kind, api, tags = get_kind(spec), spec.get("api"), frozenset(kept.tags)
    match kind:
        case "stream" | "document":
            return make_later(
                LazyCase,
                make,
                id=kept.id,
                api=api,
                level=kept.level,
                tags=tags,
                cassette=cassettes[0],
                stream=kind == "stream",
                unavailable=None,
                growth=None,
            )
        case "round_trip" | "replay" | "behavior":
            return make()
        case _:
            return make_later(LazyCallCase, make, id=kept.id, api=api, level=kept.level, tags=tags, kind=kind)


def _make_path(folder: str, spec: Path) -> str:
    return f"{folder}/{spec.parent.name}/{spec.stem}.msgpack"


def _compute_digest(content: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(_compute_code_digest())
    digest.update(content)
    return digest.digest()


@cache
def _compute_code_digest() -> bytes:
    """Return a digest of the code and the schemas that determine what is kept."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in _PARSERS:
        # Not `rglob`, which takes ten times as long as reading the files.
        for folder, _, names in sorted(os.walk(root / package)):
            for name in sorted(names):
                if name.endswith((".py", ".json")):
                    path = f"{folder}/{name}"
                    data = read_regular(path)
                    digest.update(f"{path[len(str(root)) :]} {len(data)}\n".encode() + data)
    return digest.digest()
