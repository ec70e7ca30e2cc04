"""The shapes of answers: their events, fields, types, enum values, and event orders.

Other values are left out, so shapes contain none of the model's text. `specs/shapes/<api>.json`, written by
`python -m streamconform_dev.corpus.write_shapes`, lists the shapes of real streams, plus those shapes of
authored streams that the provider's own types describe. `specs/shapes/<api>.yaml` explains all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.files import read_regular
from streamconform.model.cassette import Cassette
from streamconform.schemas import read_checked
from streamconform.wire import framings

FOLDER: Final = "shapes"
REWRITE: Final = "`python -m streamconform_dev.corpus.write_shapes` writes it"
MAX_DEPTH: Final = 12
"""Maximum depth of values that are examined; no provider nests values more deeply."""
OPAQUE: Final = frozenset(
    {
        "args",
        "arguments",
        "input",
        "inputAssessment",
        "input_schema",
        "metadata",
        "outputAssessments",
        "parameters",
        "schema",
    }
)
"""Members that contain objects whose keys are chosen by a program or a user, not by the API."""
WORDS: Final = frozenset(
    {
        "blockReason",
        "done_reason",
        "finishReason",
        "finish_reason",
        "object",
        "phase",
        "reason",
        "role",
        "service_tier",
        "status",
        "stopReason",
        "stop_reason",
    }
)
"""Members whose values are API-defined enum values, so that each value is a shape."""
NO_EVENT: Final = "chunk"
"""The event name for a payload that lacks one."""
DOCUMENT: Final = "document"
"""The event name for an answer that does not stream."""
ORDER: Final = "then"
ENDS: Final = "ends with"
REASONS: Final = frozenset(
    {
        "blockReason",
        "done_reason",
        "finishReason",
        "finish_reason",
        "reason",
        "status",
        "stopReason",
        "stop_reason",
    }
)
"""Members that say why an answer ended."""
HOLDERS: Final = frozenset(
    {
        "candidates",
        "choices",
        "delta",
        "incomplete_details",
        "interaction",
        "message",
        "promptFeedback",
        "response",
    }
)
"""Members of a payload in which such a member may be."""
RUNNING: Final = frozenset({"in_progress", "queued"})
"""Values of `status` that end nothing."""
NO_KIND: Final = frozenset({"reasoning_details", "role", "thoughtSignature"})
"""Members beside the content, or repetitions of it, that show no kind of their own."""
DOCUMENTED: Final = "documented"
"""The origin of a shape that is in the provider's published types but in no recording."""
# A value with spaces, or a longer one, may be text, which must not become a shape.
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_TYPES: Final[Mapping[type, str]] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """A property of a stream: a field of a type in an event, or one event after another."""

    event: str
    path: str
    """The path from the payload down, such as `choices[].delta.content`; an object's type is in `<>`."""
    type: str
    """A JSON type; `= word` for one of the API's enum values; `ORDER`, with the next event as the path; or
    `ENDS`, with the last kind of content as the event and the word that ended the answer as the path.
    """

    def __str__(self) -> str:
        """Return `event path type`, `event > event` for an event order, or `kind ends with word`."""
        between = {ORDER: ">", ENDS: ENDS}.get(self.type)
        return f"{self.event} {between or self.path} {self.path if between else self.type}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explains shapes that an API's authored streams have, but no real stream or official type."""

    patterns: tuple[str, ...]
    """Patterns that must match a complete shape in its printed form; `*` stands for any text."""
    facts: tuple[str, ...]
    """Names of facts in the API's evidence."""
    path: str
    line: int

    def explains(self, shape: Shape) -> bool:
        """Return whether this explanation covers `shape`."""
        return any(_compile(pattern).fullmatch(str(shape)) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Known:
    """The shapes of an API that are known from sources other than our authored streams."""

    origins: Mapping[Shape, str]
    """Maps each shape to the first recording that contains it, or to `DOCUMENTED`."""
    explanations: tuple[Explanation, ...]


def read_shapes(cassette: Cassette) -> frozenset[Shape]:
    """Return the shapes of a stream's frames; frames without a JSON object have none."""
    framing = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    shapes: set[Shape] = set()
    last = None
    for frame in framings.split(framing, cassette.body):
        try:
            payload = json.loads(frame.payload)
        except (ValueError, RecursionError):
            continue
        if not isinstance(payload, dict):
            continue
        event = _name_event(payload, frame.event)
        shapes.update(Shape(event, path, kind) for path, kind in _walk(payload, "", 0))
        # An event that follows itself is not a shape, because the number of deltas varies.
        if event != last and last is not None:
            shapes.add(Shape(last, event, ORDER))
        last = event
    return frozenset(shapes)


def read_document_shapes(body: bytes) -> frozenset[Shape]:
    """Return the shapes of an answer that does not stream; a body without a JSON object has none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(Shape(DOCUMENT, path, kind) for path, kind in _walk(document, "", 0))


def read_ending(cassette: Cassette) -> Shape | None:
    """Return the last kind of content of a stream and the word that ended it; None for a cut or an error."""
    api = APIS[cassette.api]
    kind, word, ended = "nothing", "nothing", False
    for frame in framings.split(api.detect_framing(cassette.status, cassette.body), cassette.body):
        try:
            payload = json.loads(frame.payload)
        except (ValueError, RecursionError):
            continue
        if isinstance(payload, dict):
            holders = (holder for path in api.ending.kinds for holder in _find(payload, path))
            kind = next(filter(None, map(_name_kind, holders)), kind)
            word = ([word, *_find_reasons(payload)])[-1]
            is_terminal = api.ending.is_terminal(payload)
            if is_terminal and (
                "error" in (*payload, payload.get("type")) or "Exception" in str(frame.event)
            ):
                return None
            ended = ended or is_terminal
    return Shape(kind, word, ENDS) if ended and api.ending.kinds else None


def _find(value: Any, path: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects at a path, whose step `*` is any item of a list."""
    if not path and isinstance(value, dict):
        yield value
    elif path and path[0] == "*" and isinstance(value, list):
        for item in value:
            yield from _find(item, path[1:])
    elif path and isinstance(value, dict) and path[0] in value:
        yield from _find(value[path[0]], path[1:])


def _name_kind(holder: Mapping[str, Any]) -> str:
    """Return the kind of content in an object, or nothing."""
    if isinstance(holder.get("type"), str):
        return str(holder["type"])
    return "+".join(sorted(key for key, member in holder.items() if member and key not in NO_KIND))


def _find_reasons(value: Any) -> Iterator[str]:
    """Yield the words that say why an answer ended."""
    if isinstance(value, list):
        for item in value:
            yield from _find_reasons(item)
    elif isinstance(value, dict):
        for key, member in value.items():
            if key in REASONS and isinstance(member, str) and member and member not in RUNNING:
                yield member
            elif key in HOLDERS:
                yield from _find_reasons(member)


def _name_event(payload: Mapping[str, Any], name: str | None) -> str:
    for key in ("type", "event_type"):
        if isinstance(payload.get(key), str):
            return str(payload[key])
    return name or NO_EVENT


def _walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the path and type of each member of `value`, down to `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            kind = _TYPES[type(item)]
            at = f"{path}[]{_name_type(item)}"
            yield at, kind
            yield from _walk(item, at, depth + 1)
        return
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        at = f"{path}.{key}" if path else key
        kind = _TYPES[type(member)]
        yield f"{at}{_name_type(member)}", kind
        if key in WORDS and kind == "string" and _WORD.fullmatch(member):
            yield at, f"= {member}"
        if not (key in OPAQUE and kind == "object"):
            yield from _walk(member, f"{at}{_name_type(member)}", depth + 1)


def _name_type(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    return f"<{kind}>" if isinstance(kind, str) else ""


def read_known(specs: Path, api: str) -> Known:
    """Return the known shapes of an API.

    Raises:
        SourceError: a file is missing or damaged.

    """
    generated = specs / FOLDER / f"{api}.json"
    try:
        entries = json.loads(read_regular(generated))["events"]
    except (OSError, ValueError, KeyError) as error:
        raise _report(generated, f"no known shapes ({error}); {REWRITE}") from None
    origins = {
        Shape(event, path, kind): origin
        for event, fields in entries.items()
        for path, kinds in fields.items()
        for kind, origin in kinds.items()
    }
    document = read_checked(specs / FOLDER / f"{api}.yaml", "shapes.v1")
    explanations = tuple(
        Explanation(
            tuple(entry["at"]),
            tuple(entry.get("evidence", ())),
            document.path,
            document.line(("explained", number)) or 0,
        )
        for number, entry in enumerate(document.value["explained"])
    )
    return Known(origins, explanations)


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    # Not `fnmatch`, in which the brackets of `choices[]` are special.
    return re.compile(".*".join(map(re.escape, pattern.split("*"))))


def _report(path: Path, message: str) -> SourceError:
    return SourceError((Problem(str(path), None, message),))
