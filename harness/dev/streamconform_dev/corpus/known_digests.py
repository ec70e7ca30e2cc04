"""Compare the plain reader's results with digests that another parser made from the same bodies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streamconform.model.leaf import format_canonical_json
from streamconform_dev.corpus.plain_reader import Reading
from streamconform_dev.corpus.plain_reader.reading import Block, Choice


def read_known(folder: str | None) -> Mapping[str, Mapping[str, Any]]:
    """Return the lines of `expected.jsonl` by the SHA-256 of the body; empty without the folder."""
    if not folder:
        return {}
    lines = Path(folder, "expected.jsonl").read_text("utf-8").splitlines()
    return {line["sha256"]: line for line in map(json.loads, lines)}


def find_differences(reading: Reading, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line per fact that differs; facts that the parser's author left open are not compared."""
    expect, open_ = known["expect"], set(known["unsettled"])
    facts = _digest(reading)
    for name, value in facts.items():
        if name in open_ or name not in expect:
            continue
        accepted = [expect[name], *known.get("accept", {}).get(name, [])]
        if name == "tool_calls":  # providers' tools have no common form
            accepted = [[call for call in calls if call["executor"] == "client"] for calls in accepted]
        if name == "usage":
            yield from _compare_usage(reading, accepted, open_)
        elif name == "stop" and isinstance(reading.reason, Choice):
            if not {*reading.reason.values} & {*accepted}:
                yield f"stop: {reading.reason.values}, known {accepted}"
        elif value not in accepted:
            yield f"{name}: {value}, known {accepted}"


def _compare_usage(reading: Reading, accepted: list[Any], open_: set[str]) -> Iterator[str]:
    usage = reading.usage or {}
    for bucket in ("input", "cache_read", "cache_write", "output", "reasoning"):
        count = usage.get(bucket)
        values = count.values if isinstance(count, Choice) else (count,)
        known = [each.get(bucket) for each in accepted if isinstance(each, dict)]
        if f"usage.{bucket}" not in open_ and not {*values} & {*known}:
            yield f"usage.{bucket}: {values}, known {known}"


def _digest(reading: Reading) -> dict[str, Any]:
    def join(kind: str) -> str:
        return "".join(each.text for each in reading.blocks if each.kind == kind and not each.redacted)

    client_calls = [each for each in reading.blocks if each.kind == "tool_call" and each.executor == "client"]
    return {
        "status": reading.status,
        "stop": reading.reason,
        "text": _hash(join("text")),
        "thinking": _hash(join("thinking")),
        "refusal": _hash(join("refusal")) if join("refusal") else None,
        "tool_calls": [_describe_call(each) for each in client_calls],
        "usage": None,
    }


def _describe_call(call: Block) -> dict[str, Any]:
    arguments = None if call.arguments is None else _hash(format_canonical_json(call.arguments))
    return {
        "name": call.name,
        "id": call.id,
        "arguments": arguments,
        "executor": call.executor,
        "complete": call.complete,
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
