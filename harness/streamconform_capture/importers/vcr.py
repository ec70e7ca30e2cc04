"""Read vcrpy cassettes, YAML and JSON, and those of pydantic-ai's serializer.

vcrpy joins the chunks of a stream, so the bytes are preserved but the chunk boundaries are lost. Before the
safe YAML loader runs, a pass over the parser's events rejects documents that would need unbounded memory to
compose. Each interaction is constructed separately, so that a bad one does not affect the others.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers.exchange import (
    Entry,
    ImportedExchange,
    NotImportable,
    join_headers,
    require,
)
from streamconform_capture.importers.recorders import name_recorder

MAX_DEPTH: Final = 64
MAX_EVENTS: Final = 300_000
MAX_REPEATED: Final = 8
"""The maximum number of values of one header."""
SUFFIXES: Final = (".yaml", ".yml")
RECIPE: Final = "Imported from a vcrpy cassette with `conform import`; content and transfer encodings removed"
REWRITTEN: Final = "; the recorder parsed the JSON of the answer and wrote it again"
BROKEN: Final = (ValueError, RecursionError, yaml.YAMLError)
"""Exceptions for a file that is not YAML or JSON."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that also constructs the values for which vcrpy writes tags."""


def _construct_buffer(loader: Any, node: yaml.MappingNode) -> Any:
    """Return the bytes of a request body that was a file."""
    return (loader.construct_mapping(node, deep=True).get("state") or [None])[0]


for tag, construct in (
    ("timestamp", _Loader.construct_scalar),  # a body may look like a date
    ("python/str", _Loader.construct_scalar),
    ("python/unicode", _Loader.construct_scalar),
    ("python/tuple", _Loader.construct_sequence),
    ("python/object/new:_io.BytesIO", _construct_buffer),
    ("python/object/apply:builtins.iter", lambda *_: None),
):
    _Loader.add_constructor(f"tag:yaml.org,2002:{tag}", construct)


def is_cassette(path: Path, data: bytes) -> bool:
    """Return whether `data` should be read as a cassette."""
    return path.suffix in SUFFIXES or (
        path.suffix == ".json" and data.lstrip()[:1] == b"{" and b'"interactions"' in data
    )


def read(path: Path, data: bytes) -> Iterator[Entry]:
    """Yield the exchanges of the cassette in `data`. Raises `SourceError` if it is not a cassette."""
    text = decode_utf8(path, data)
    try:
        if path.suffix in SUFFIXES:
            (interactions,) = load_lists(path, text, "interactions")
        else:
            found = require(json.loads(text), dict, "the file").get("interactions")
            interactions = [partial(_return, item) for item in require(found, list, "`interactions`")]
    except BROKEN as error:
        raise explain_error(path, "vcrpy", error) from error
    for number, load in enumerate(interactions, start=1):
        where = f"{path.name}, interaction {number} of {len(interactions)}"
        yield Entry(where, partial(_read_interaction, where, load))


def load_lists(path: Path, text: str, *keys: str) -> list[list[Callable[[], Any]]]:
    """Return a function for each item of the lists with these top-level keys, which constructs the item.

    Raises one of `BROKEN` if a list is missing.
    """
    _reject_hostile(path, text)
    root = _Loader(text).get_single_node()
    if isinstance(root, yaml.SequenceNode):
        raise NotImportable("a list, as vcrpy before 1.0 wrote it; convert it with vcrpy's migration script")
    if not isinstance(root, yaml.MappingNode):
        raise NotImportable(f"expected a mapping with the list `{keys[0]}`")
    found = {key.value: value for key, value in root.value if isinstance(key, yaml.ScalarNode)}
    lists: list[list[Callable[[], Any]]] = []
    for key in keys:
        node = found.get(key)
        if not isinstance(node, yaml.SequenceNode):
            recorder = name_recorder({*found})
            raise NotImportable(f"it has no list `{key}`" + (f"; {recorder}" if recorder else ""))
        lists.append([partial(_construct, item) for item in node.value])
    return lists


def _construct(node: yaml.Node) -> Any:
    try:
        return _Loader("").construct_document(node)  # a loader that has failed once cannot be used again
    except yaml.YAMLError as error:
        raise NotImportable(describe_error(error)) from error


def _return(value: Any) -> Any:
    return value


def _read_interaction(where: str, load: Callable[[], Any]) -> ImportedExchange:
    interaction = require(load(), dict, "the interaction")
    request = require(interaction.get("request"), dict, "`request`")
    return read_exchange(where, request, require(interaction.get("response"), dict, "`response`"))


def decode_utf8(path: Path, data: bytes) -> str:
    """Return a file's text. Raises `SourceError`, with the line number, if a byte is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        raise SourceError((Problem(str(path), data.count(b"\n", 0, error.start) + 1, message),)) from error


def _reject_hostile(path: Path, text: str) -> None:
    """Raise `SourceError` if composing the YAML would recurse too deeply or need unbounded memory.

    Anchors alone are allowed, because vcrpy writes them.
    """
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        # Only a plain `<<` is a merge key; a quoted one is text.
        merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
        message = (
            f"nested deeper than {MAX_DEPTH} levels"
            if depth > MAX_DEPTH
            else "a merge key (`<<`), which vcrpy does not write"
            if merge
            else f"more than {MAX_EVENTS} nodes"
            if count > MAX_EVENTS
            else None
        )
        if message is not None:
            raise SourceError((Problem(str(path), _get_event_line(event), message),))


def _get_event_line(event: yaml.Event) -> int | None:
    return None if event.start_mark is None else event.start_mark.line + 1


def read_exchange(
    where: str, request: Mapping[str, Any], response: Mapping[str, Any], recipe: str = RECIPE
) -> ImportedExchange:
    """Return a request and its response as an exchange. Raises `NotImportable` if the form is wrong."""
    if isinstance(request.get("body"), Mapping) or isinstance(response.get("status"), int):
        raise NotImportable(name_recorder({*request, *response, "body.type"}) or "its body is a mapping")
    old = "status_code" in response  # the format that vcrpy before 6 wrote for httpx
    status = response if old else require(response.get("status"), dict, "`status`")
    body = _read_body(response)
    if body is None:
        raise NotImportable("its response has no readable body")
    return ImportedExchange(
        origin=where,
        recipe=recipe + (REWRITTEN if "parsed_body" in response else ""),
        status=require(status.get("status_code" if old else "code"), int, "its status"),
        headers=_read_headers(response.get("headers")),
        body=body,
        url=require(request.get("uri"), str, "`uri`"),
        method=require(request.get("method"), str, "`method`").upper(),
        request_headers=_read_headers(request.get("headers")),
        request_body=_to_bytes(request["body"]) if "body" in request else _write_parsed(request),
    )


def _read_body(response: Mapping[str, Any]) -> bytes | None:
    """Return a response's bytes, stored as text, `!!binary`, or the base64 that betamax and others write."""
    body = response.get("content", response.get("body"))
    if "parsed_body" in response:
        return _write_parsed(response)
    if not isinstance(body, Mapping):
        return _to_bytes(body)
    try:
        if isinstance(body.get("base64_string"), str):
            return b64decode(body["base64_string"], validate=False)
        if body.get("encoding") == "base64" and isinstance(body.get("string"), str | bytes):
            return b64decode(body["string"])
    except binascii.Error as error:
        raise NotImportable(f"its body is not base64: {error}") from error
    return _to_bytes(body.get("string"))


def _write_parsed(message: Mapping[str, Any]) -> bytes | None:
    """Return the body that pydantic-ai's serializer parsed as JSON, if there is one."""
    parsed = message.get("parsed_body")
    return None if parsed is None else json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace")


def _to_bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise NotImportable("its text has half of a surrogate pair") from None
    return value if isinstance(value, bytes) else None


def _read_headers(recorded: Any) -> dict[str, str]:
    """Return headers, each of which has a value or a list of values."""
    items = recorded.items() if isinstance(recorded, Mapping) else ()
    return join_headers(
        (name, value)
        for name, values in items
        for value in (values[:MAX_REPEATED] if isinstance(values, list | tuple) else [values])
    )


def explain_error(path: Path, recorder: str, error: Exception) -> SourceError:
    """Return the error for a file that is not a cassette, with the line number if YAML gives one."""
    mark = getattr(error, "problem_mark", None)
    message = f"not a {recorder} cassette: {describe_error(error)}"
    return SourceError((Problem(str(path), None if mark is None else mark.line + 1, message),))


def describe_error(error: Exception) -> str:
    """Return the first line of the message of `error`, which is one of the `BROKEN` exceptions."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return (str(error) or type(error).__name__).partition("\n")[0].strip()[:200]
