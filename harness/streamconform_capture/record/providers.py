"""Request bodies that `conform record` sends to a live server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Recording

Json = dict[str, Any]

RECORDINGS: Final[Mapping[str, Recording]] = {
    name: api.recording for name, api in APIS.items() if api.recording is not None
}
"""The APIs that can be recorded; the others put the model in the path and use another path for streaming."""

HOSTS: Final = frozenset(recording.host for recording in RECORDINGS.values() if recording.host is not None)
"""Public provider hosts, which the provenance may name. Other hosts may be private."""


def build_streaming_body(body: Mapping[str, Any], model: str) -> Json:
    """Return `body` with `model` and `stream: true` set."""
    return {"model": model} | dict(body) | {"model": model, "stream": True}
