"""Requests to a live server, as `conform record` sends them; which headers carry keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Recording

Json = dict[str, Any]

RECORDINGS: Final[Mapping[str, Recording]] = {
    name: api.recording for name, api in APIS.items() if api.recording is not None
}
"""The APIs that can be recorded; the others name the model in the path, and stream at a path of its own."""

HOSTS: Final = frozenset(recording.host for recording in RECORDINGS.values() if recording.host is not None)
"""Public hosts of providers, which the provenance names. Other hosts may be private."""

CREDENTIALS: Final = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-auth-token",
        *(api.key.header for api in APIS.values()),
    }
)
"""Headers that carry keys, and therefore never come from the command line."""


def streaming(body: Mapping[str, Any], model: str) -> Json:
    """Return `body` as it is sent: for `model`, and with `stream: true`."""
    return {"model": model} | dict(body) | {"model": model, "stream": True}


def at_once(recording: Recording, body: Mapping[str, Any]) -> Json:
    """Return the same request for an answer without streaming."""
    left_out = recording.streaming_only
    return {key: value for key, value in body.items() if key not in left_out} | {"stream": False}
