"""Whole streams of every API, as material to damage."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Final

from streamconform.apis import APIS
from streamconform_dev.bench.many_streams import BINARY, make_line

NUMBERS: Final = (54, 37, 2, 48, 76, 41, 78, 25, 17, 63, 28, 6, 7, 57)
"""Short ones of `many_streams`; each API has one."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream, and the request that it answers."""

    api: str
    body: bytes
    media_type: str

    @property
    def path(self) -> str:
        """Return the path of the request."""
        return APIS[self.api].importing.path

    @property
    def url(self) -> str:
        """Return the address of the request."""
        return f"https://gateway.example{self.path}"

    @property
    def request(self) -> str:
        """Return the body of the request."""
        return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi."}]})


def choose_streams(rng: random.Random, count: int) -> list[Stream]:
    """Return random streams; no two are the same."""
    return rng.sample(list_streams(), count)


@cache
def list_streams() -> tuple[Stream, ...]:
    """Return all streams."""
    return tuple(map(_make_stream, NUMBERS))


def _make_stream(number: int) -> Stream:
    line = json.loads(make_line(number))
    api = line["api"]
    body = line["body"].encode() if "body" in line else base64.b64decode(line["body_base64"])
    usual = "application/x-ndjson" if APIS[api].framing == "ndjson" else "text/event-stream"
    return Stream(api, body, BINARY.get(api, usual))
