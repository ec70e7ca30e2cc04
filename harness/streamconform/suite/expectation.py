"""Parse the `expect` mapping of a spec into an `Expectation`, expanding its shorthands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from streamconform.model.case import Counts, Expectation, ExpectedBlock
from streamconform.model.leaf import AnyOf, Digest, Leaf, Literally, Matches, PrefixOf, Present
from streamconform.model.outcome import BROKEN_STATUSES, FAILED_REASONS, BlockType, Usage

MATCHERS: Final = ("matches", "present", "any_of", "prefix_of")
_DIGEST_SUFFIX: Final = "_digest"
"""An `arguments_digest` suffix: the length and SHA-256 of the canonical JSON of omitted arguments."""
_FAILED: Final = (("incomplete", Literally(None)), ("error", Literally("error")))
"""The status and stop reason if a stream broke or failed before the provider sent a reason."""
_FIELDS: Final[Mapping[BlockType, tuple[str, ...]]] = {
    "text": ("text",),
    "refusal": (),
    "thinking": ("text", "signature", "redacted"),
}
"""The keys that identify a mapping as a block's fields rather than a matcher for its text."""
_UNKNOWN_COUNT: Final = AnyOf((None, 0), "the stream does not give this count", preferred=(None,))
"""The leaf for `usage.X: null`: many clients start their counters at 0, and then cannot tell an unknown count
from zero, so 0 is a warning (`specs/POLICY.md`, "Null, zero and absent").
"""
_LITERAL_FIELDS: Final = ("arguments", "data", "citations", "details", "echo")
"""Fields that contain arbitrary JSON. A tool may have an argument called `matches`, so nothing in these
fields is a matcher.
"""


def parse(expect: Mapping[str, Any]) -> Expectation:
    """Return the expectation in `expect`, which the schema has accepted."""
    status = expect["status"]
    # A broken stream may be reported as incomplete or as an error: raising is safe.
    fields: dict[str, Leaf] = {
        "status": AnyOf(BROKEN_STATUSES) if status == "incomplete" else parse_leaf(status)
    }
    stop = expect["stop"]
    # A mapping with other keys is a matcher for the reason.
    if isinstance(stop, Mapping) and ("reason" in stop or "raw" in stop):
        fields |= {f"stop.{name}": leaf for name, leaf in _parse_fields(stop).items()}
    else:
        fields["stop.reason"] = parse_leaf(stop)
    if (status, fields.get("stop.reason")) in _FAILED:
        fields["stop.reason"] = AnyOf(FAILED_REASONS)
    if "usage" in expect:
        fields |= _parse_usage(expect["usage"])
    for group in ("cost", "error"):
        if group not in expect:
            continue
        if expect[group] is None:
            fields[group] = Literally(None)
        else:
            fields |= {f"{group}.{name}": parse_leaf(value) for name, value in expect[group].items()}
    for name in ("model", "response_id", "continuation"):
        if name in expect:
            fields[name] = parse_leaf(expect[name])
    if "echo" in expect:
        fields["echo"] = Literally(expect["echo"])
    # A complete answer has no error, so cases need not say so.
    if "error" not in expect and status == "complete":
        fields["error"] = Literally(None)
    return Expectation(tuple(parse_block(entry) for entry in expect["content"]), fields)


def _parse_usage(usage: Mapping[str, Any] | None) -> dict[str, Leaf]:
    """Return a leaf per expected count; `usage: null` means that every count is unknown."""
    counts = dict.fromkeys(Usage.__slots__) if usage is None else usage
    return {
        f"usage.{bucket}": _UNKNOWN_COUNT if count is None else parse_leaf(count)
        for bucket, count in counts.items()
    }


def parse_output(expect: Mapping[str, Any]) -> Literally | AnyOf | Counts:
    """Return a function's expected result: the value of `output`, or one of `any_of`; both are literal JSON.

    `counts` gives the expected order of the function's results for several inputs.
    """
    if "counts" in expect:
        return Counts(expect["counts"])
    return (
        AnyOf(tuple(expect["any_of"]), expect["why"]) if "any_of" in expect else Literally(expect["output"])
    )


def parse_block(entry: Mapping[str, Any]) -> ExpectedBlock:
    """Return the content block in `entry`, a mapping whose only key is the block's type."""
    ((key, value),) = entry.items()
    type_ = cast(BlockType, key)  # the schema allows only these keys
    match type_:
        case "text" | "refusal" | "thinking":
            if isinstance(value, Mapping) and not value.keys().isdisjoint(_FIELDS[type_]):
                return ExpectedBlock(type_, _parse_fields(value))
            return ExpectedBlock(type_, {"text": parse_leaf(value)})
        case "tool_call":
            defaults: dict[str, Leaf] = {"complete": Literally(True), "executor": Literally("client")}
            return ExpectedBlock(type_, defaults | _parse_fields(value))
        case "other":
            return ExpectedBlock(type_, _parse_fields(value))


def parse_leaf(value: Any) -> Leaf:
    """Return the matcher that a mapping describes; any other value is expected literally."""
    if type(value) is not dict:  # faster than `isinstance`, and YAML has no other mappings
        return Literally(value)
    why = value.get("why")
    if "matches" in value:
        return Matches(re.compile(value["matches"]), why)
    if "present" in value:
        return Present(value["present"], why)
    if "any_of" in value:
        return AnyOf(tuple(value["any_of"]), why, tuple(value.get("prefer", ())))
    if "sha256" in value:
        return Digest(((value["length"], value["sha256"]),))
    return PrefixOf(value["prefix_of"], why)


def serialize_leaf(expected: Leaf) -> Any:
    """Return the JSON form of an expected value, as results and reports show it."""
    match expected:
        case Literally(value):
            return value
        case Matches(pattern):
            return {"matches": pattern.pattern}
        case Present(present):
            return {"present": present}
        case AnyOf(values, preferred=preferred):
            return {"any_of": list(values)} | ({"prefer": list(preferred)} if preferred else {})
        case PrefixOf(text):
            return {"prefix_of": text}
        case Digest(((length, digest),)):
            return {"length": length, "sha256": digest}
        case Digest():
            return {"length": expected.length}


def _parse_fields(entry: Mapping[str, Any]) -> dict[str, Leaf]:
    return {
        name.removesuffix(_DIGEST_SUFFIX): Literally(value) if name in _LITERAL_FIELDS else parse_leaf(value)
        for name, value in entry.items()
    }
