"""Write the specs based on pulled recordings: `python -m streamconform_dev.corpus.write_recorded`.

Fetch the recordings first (`conform run --recorded --pull`). The expectations come from the plain reader.
With `STREAMCONFORM_CORPUS`, they are compared with digests that another parser made from the same bodies, and
differences are printed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamconform.model.cassette import Cassette, Derived
from streamconform.model.leaf import digest_text, format_canonical_json
from streamconform.suite import cassettes
from streamconform.suite.documents import is_document
from streamconform.suite.pulled import make_topic
from streamconform_capture.corpus import cache
from streamconform_capture.corpus.sources import SOURCES, Source
from streamconform_dev.checkout import ROOT
from streamconform_dev.corpus.known_digests import find_differences, read_known
from streamconform_dev.corpus.plain_reader import NotRead, Reading, read
from streamconform_dev.corpus.plain_reader.reading import Block, Choice
from streamconform_dev.corpus.prices import WEB_SEARCH, compute_cost, find_prices

SPECS: Final = ROOT / "specs"
HEAD: Final = """\
# yaml-language-server: $schema=../../harness/streamconform/schemas/spec.v1.json
# Written by `python -m streamconform_dev.corpus.write_recorded`; change its `plain_reader`, not this file.
"""
LONG: Final = 200
"""The length from which a string in arguments counts as prose, of which the suite stores only a digest."""
PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
KEYWORDS: Final = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
NAMED_LIKE: Final = re.compile(r"(gpt-|o\d|chatgpt-|text-|this-model)")
"""OpenAI's models; answers of other models at its path come from compatible servers."""
ORIGIN: Final = re.compile(r"[^,]+, (?P<file>.+), interaction (?P<entry>\d+) of \d+")


@dataclass(frozen=True, slots=True)
class Recording:
    """A pulled recording, with the plain reader's result."""

    cassette: Cassette
    file: str
    entry: int
    reading: Reading


def main() -> None:
    """Write every spec, delete those of removed sources, and print the recordings that were not read."""
    root = cache.locate_root(None)
    written: set[Path] = set()
    skipped: list[str] = []
    seen: set[str] = set()
    known = read_known(os.environ.get("STREAMCONFORM_CORPUS"))
    counts: Counter[str] = Counter()
    for source in SOURCES.values():
        pulled = cache.read_pulled(root, source)
        if pulled is None:
            sys.exit(f"`{source.name}` was not pulled to {root}; run `conform run --recorded --pull`")
        for api in pulled.recordings:
            recordings = []
            for path in sorted((pulled.folder / api).glob("*.yaml")):
                cassette = cassettes.load(pulled.folder, api, path.stem)
                if is_document(cassette):
                    counts["documents"] += 1  # which the plain reader does not read
                    continue
                if cassette.sha256 in seen:
                    counts["repeated"] += 1
                    continue
                seen.add(cassette.sha256)
                try:
                    reading = read(api, cassette.status, cassette.body)
                except NotRead as error:
                    skipped.append(f"{source.name} {api}/{path.stem}: {error}")
                    continue
                recordings.append(_describe(cassette, reading))
                if cassette.sha256 in known:
                    counts["compared"] += 1
                    for line in find_differences(reading, known[cassette.sha256]):
                        sys.stdout.write(f"{source.name} {api}/{path.stem}: {line}\n")
            if recordings:
                counts["cases"] += len(recordings)
                target = SPECS / api / f"{make_topic(source.name)}.yaml"
                target.write_text(_format_spec(source, api, recordings), "utf-8")
                written.add(target)
    for path in set(SPECS.glob("*/recorded-*.yaml")) - written:
        path.unlink()
    for line in skipped:
        sys.stdout.write(f"not read: {line}\n")
    sys.stdout.write(
        f"{counts['cases']} cases in {len(written)} specs; {counts['compared']} compared; "
        f"{counts['repeated']} recordings have the bytes of another source; "
        f"{counts['documents']} do not stream\n"
    )


def _describe(cassette: Cassette, reading: Reading) -> Recording:
    assert isinstance(cassette.provenance, Derived), "the importers derive"
    match = ORIGIN.fullmatch(cassette.provenance.source)
    assert match is not None, cassette.provenance.source
    return Recording(cassette, match["file"], int(match["entry"]), reading)


def _format_spec(source: Source, api: str, recordings: list[Recording]) -> str:
    lines = [
        HEAD + "spec: 1",
        f"api: {api}",
        f"topic: {make_topic(source.name)}",
        f'source: {{name: {source.name}, version: "{source.version}"}}',
        "cases:",
    ]
    for each in recordings:
        lines += _format_case(each)
    return "\n".join(lines) + "\n"


def _format_case(recording: Recording) -> Iterator[str]:
    cassette, reading = recording.cassette, recording.reading
    prices = find_prices(reading, cassette.model)
    cost = compute_cost(reading, prices) if prices is not None else None
    yield f"  - id: {cassette.name}"
    yield f"    title: {_format(_make_title(recording))}"
    yield f"    cassette: {{file: {_format(recording.file)}, entry: {recording.entry},"
    yield f'               sha256: "{cassette.sha256}"}}'
    if not _is_first_party(cassette):  # if formats differ, no provider says what a client has to do
        yield "    level: should"
        yield "    tags: [look-alike]"
    if prices is not None and cost is not None:
        searches = {"web_search_per_1000": WEB_SEARCH} if reading.counts.get("web_searches") else {}
        yield f"    pricing: {_format({**prices, **searches})}"
    yield "    expect:"
    yield f"      status: {reading.status}"
    stop = {"reason": reading.reason} | ({} if reading.raw is None else {"raw": reading.raw})
    yield f"      stop: {_format(stop if reading.raw is not None else _leaf(reading.reason))}"
    blocks = [_describe_block(block) for block in reading.blocks if not _is_empty(block)]
    yield "      content:" + ("" if blocks else " []")
    for block in blocks:
        yield f"        - {_format(block)[1:-1]}"
    if reading.status == "complete" and reading.usage:
        yield f"      usage: {_format(reading.usage)}"
    if reading.error_type is not None:
        http = {"status": cassette.status} if cassette.status >= 400 else {}
        yield f"      error: {_format({'type': reading.error_type, **http})}"
    if cost is not None:
        yield f'      cost: {{total: "{cost}"}}'


def _is_empty(block: Block) -> bool:
    return block.kind in ("text", "refusal", "thinking") and not (block.text or block.signature)


def _make_title(recording: Recording) -> str:
    """Return the parts of the answer, the model, and what the library calls the recording."""
    reading = recording.reading
    if recording.cassette.status >= 400:
        content = f"HTTP status {recording.cassette.status}"
    else:
        kinds = Counter(
            "provider-run call" if block.executor == "provider" else block.kind.replace("tool_call", "call")
            for block in reading.blocks
            if not _is_empty(block)
        )
        parts = [
            kind if not kind.endswith("call") else f"a {kind}" if count == 1 else f"{count} {kind}s"
            for kind, count in kinds.items()
        ]
        content = " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part) or "no content"
    model = recording.cassette.model or reading.model or "an unnamed model"
    return f"{content[:1].upper()}{content[1:]}, from {model}: {_name_recording(recording)}"


def _name_recording(recording: Recording) -> str:
    """Return the library's name of a recording in words: the file after `cassettes`, and the answer in it."""
    path = re.sub(r"(\.ya?ml|\.json)?(\.gz)?$", "", recording.file).rpartition("cassettes/")[2]
    parts = [re.sub(r"^tests?_|_", " ", part).strip() for part in re.split(r"/|\.(?=test)", path)]
    # A folder is often named after the same test as the files in it.
    telling = [
        part for part, inner in zip(parts, [*parts[1:], ""], strict=True) if not inner.startswith(part)
    ]
    number = [f"answer {recording.entry}"] if recording.entry > 1 else []
    return ", ".join([*telling, *number])


def _is_first_party(cassette: Cassette) -> bool:
    path, model = cassette.request.path, cassette.model or ""
    if path.startswith("/router/"):
        return False
    if cassette.api != "openai-chat":
        return True
    return path == "/v1/chat/completions" and NAMED_LIKE.match(model) is not None


def _describe_block(block: Block) -> dict[str, Any]:
    text: Any = _digest(block.text) if block.text else ""
    if block.kind in ("text", "refusal"):
        return {block.kind: text}
    if block.kind == "thinking":
        signature = {} if block.signature is None else {"signature": _digest(block.signature)}
        if block.redacted:
            return {"thinking": {"redacted": True, **signature}}
        return {"thinking": {"text": text, **signature} if signature else text}
    return {"tool_call": dict(_describe_call(block))}


def _describe_call(block: Block) -> Iterator[tuple[str, Any]]:
    provider = block.executor == "provider"
    # A hosted tool has no name on the wire; clients name it after the item's type, with or without its end.
    yield "name", {"matches": f"^{block.name}"} if block.free and provider else block.name
    if block.id is not None:
        yield "id", block.id
    if provider:
        yield "executor", "provider"
    if block.free:
        return
    if not block.complete:
        yield "complete", False
        return
    if _has_prose(block.arguments):
        yield "arguments_digest", _digest(format_canonical_json(block.arguments))
    else:
        yield "arguments", block.arguments
    if block.signature is not None:
        yield "signature", _digest(block.signature)


def _has_prose(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_prose, value.values()))
    if isinstance(value, list):
        return any(map(_has_prose, value))
    return isinstance(value, str) and len(value) > LONG


def _digest(text: str) -> dict[str, Any]:
    ((length, digest),) = digest_text(text).parts
    return {"length": length, "sha256": digest}


def _leaf(value: Any) -> Any:
    if isinstance(value, Choice):
        return {"any_of": list(value.values), "why": value.why}
    return value


def _format(value: Any) -> str:
    """Return a value in YAML's flow style."""
    value = _leaf(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_format(key)}: {_format(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_format, value)) + "]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in KEYWORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
