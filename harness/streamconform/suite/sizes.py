"""Specs of kind `sizes`: each case is about streams of all APIs, which are grown from short ones.

The bytes are made where a trial runs, and what is expected is made by the same recipe, so neither is part of
the suite. These cases take long, and therefore run only if a pattern names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from streamconform.apis import APIS
from streamconform.delivery.grow import list_call_ids, replace_argument
from streamconform.model.case import Case
from streamconform.model.cassette import Cassette
from streamconform.model.growth import Growth, shorten_text, shorten_texts
from streamconform.suite import expectation
from streamconform.suite.pulled import is_recorded

KIND: Final = "sizes"
FILE: Final = "sizes.yaml"
"""The file in the folder `common` whose cases belong to APIs."""
_MENTION: Final = re.compile(r"(^|/)sizes(?![^/@*])")


class SizedStream(NamedTuple):
    """A case's stream in one API."""

    api: str
    cassette: str
    content: list[Any] | None
    """What is expected beside an image."""


def is_sized(id_or_pattern: str) -> bool:
    """Return whether an id belongs to a case about sizes, or whether a pattern names such ids explicitly."""
    return _MENTION.search(id_or_pattern) is not None


def is_optional(id_or_pattern: str) -> bool:
    """Return whether cases with this id, or cases that this pattern names, run only if they are named."""
    return is_recorded(id_or_pattern) or is_sized(id_or_pattern)


def holds_all_apis(path: Path) -> bool:
    """Return whether the cases in a spec file belong to all APIs, rather than to that of its folder."""
    return path.name == FILE and path.parent.name not in APIS


def read_growth(entry: Mapping[str, Any]) -> Growth:
    """Return how the streams of a case are made."""
    grow = dict(entry["grow"])
    parts = grow.pop("deltas", 1)
    ((what, size),) = grow.items()
    if what == "calls":
        return Growth("calls", parts=size)
    return Growth(what, size, parts)


def list_streams(entry: Mapping[str, Any]) -> Iterator[SizedStream]:
    """Yield the streams of a case, in the order of the APIs."""
    named: Mapping[str, Mapping[str, Any]] = entry.get("streams", {})
    is_call = read_growth(entry).what in ("arguments", "calls")
    for name, api in APIS.items():
        if name in named:
            yield SizedStream(name, named[name]["cassette"], named[name]["content"])
        elif not named and name not in entry.get("without", ()):
            smoke = api.smoke
            yield SizedStream(name, smoke.call_cassette if is_call else smoke.text_cassette, None)


def build_sized_case(
    entry: Mapping[str, Any], stream: SizedStream, cassette: Cassette, head: Mapping[str, Any]
) -> Case:
    """Return the case of one API; its cassette is the short stream."""
    growth = read_growth(entry)
    is_call = growth.what in ("arguments", "calls")
    content = stream.content if stream.content is not None else _expect_content(growth, stream.api, cassette)
    expect = {"status": "complete", "stop": "tool_use" if is_call else "stop", "content": content}
    return Case(cassette=cassette, expect=expectation.parse(expect), growth=growth, **head)


def _expect_content(growth: Growth, api: str, cassette: Cassette) -> list[Any]:
    smoke = APIS[api].smoke
    match growth.what:
        case "arguments":
            arguments = shorten_texts(replace_argument(smoke.call_arguments, growth.content))
            return [{"tool_call": {"name": smoke.call_name, "arguments": arguments}}]
        case "calls":
            call = {"name": smoke.call_name, "arguments": dict(smoke.call_arguments)}
            ids = list_call_ids(api, cassette.body, growth.parts)
            return [{"tool_call": {"id": id_, **call}} for id_ in ids]
        case _:
            return [{"text": shorten_text(growth.content)}] if growth.size else []
