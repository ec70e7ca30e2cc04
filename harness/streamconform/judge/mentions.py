"""Find the ids and signatures that a stream mentions. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final

from streamconform.apis import APIS
from streamconform.model.trial import VARIANTS, Trial
from streamconform.wire.framings import split

_MENTION: Final = re.compile(
    rb'"\w{0,40}(?:[iI]d|[sS]ignature|encrypted_content)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL
)
"""Matches the text under a key for an id or a signature, wherever in a payload it is."""


def find_mention(trial: Trial, text: str) -> int | None:
    """Return the place of an id or a signature among those that the stream of `trial` mentions, or None."""
    case = trial.case
    # A broken stream counts as mentioning every id of the whole one, because an id that has not arrived
    # cannot be reported. Only the frames of another server have other ids.
    body = trial.body if trial.delivery in VARIANTS else case.cassette.body
    return index_mentions(case.api, body).get(text)


@lru_cache(maxsize=8)
def index_mentions(api: str, body: bytes) -> Mapping[str, int]:
    """Return the ids and signatures in the payloads of `body`, numbered in the order of first mention."""
    framed = APIS[api].detect_framing(200, body)
    payloads = [frame.payload for frame in split(framed, body)] if framed != "document" else [body]
    texts = dict.fromkeys(text for payload in payloads for text in _list_mentions(payload))
    return {text: place for place, text in enumerate(texts)}


def _list_mentions(payload: bytes) -> Iterator[str]:
    # A text search, because the judge parses no streams.
    for match in _MENTION.finditer(payload):
        with suppress(ValueError):  # a payload may be damaged
            yield json.loads(match[1])
