"""Change frames and JSON values in recorded streams, never the framing, in ways that no provider documents.

If two implementations read such a stream differently, neither is necessarily wrong, but one that crashes,
hangs or reports it as complete should be examined.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.wire.framings import replace_payload, split

_MOST_EDITS: Final = 3
"""The number of payloads edited in one stream."""
_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    2**63,
    1.5,
    "",
    "null",
    "\ud83d",
    [],
    {},
    [[]],
    {"type": "future"},
)


def mutate_body(api: str, body: bytes, seed: str) -> bytes:
    """Return `body` with a few random edits; unchanged if it is not a stream of the API."""
    choice = random.Random(seed)  # noqa: S311 - a repeatable choice, not a secret
    framed = APIS[api].detect_framing(200, body)
    frames = split(framed, body)
    if not frames:
        return body
    ends = [frame.start for frame in frames[1:]] + [len(body)]
    edited = {choice.randrange(len(frames)) for _ in range(choice.randint(0, _MOST_EDITS))}
    pieces = []
    for number, (frame, end) in enumerate(zip(frames, ends, strict=True)):
        if number in edited:
            changed = replace_payload(framed, body, frame, _edit_payload(frame.payload, choice))
            pieces.append(changed + body[frame.end : end])
        else:
            pieces.append(body[frame.start : end])
    # Without an edited payload, at least one frame is edited, so that the recording rarely stays as it is.
    for _ in range(choice.randint(0 if edited else 1, 2)):
        pieces = choice.choice(_FRAME_EDITS)(pieces, choice)
    return body[: frames[0].start] + b"".join(pieces)


def _drop_frame(pieces: list[bytes], choice: random.Random) -> list[bytes]:
    number = choice.randrange(len(pieces)) if pieces else 0
    return pieces[:number] + pieces[number + 1 :]


def _repeat_frame(pieces: list[bytes], choice: random.Random) -> list[bytes]:
    number = choice.randrange(len(pieces)) if pieces else 0
    return pieces[: number + 1] + pieces[number:]


def _swap_frames(pieces: list[bytes], choice: random.Random) -> list[bytes]:
    if len(pieces) < 2:
        return pieces
    number = choice.randrange(len(pieces) - 1)
    return [*pieces[:number], pieces[number + 1], pieces[number], *pieces[number + 2 :]]


def _cut_body(pieces: list[bytes], choice: random.Random) -> list[bytes]:
    number = choice.randrange(len(pieces)) if pieces else 0
    last = pieces[number] if pieces else b""
    return [*pieces[:number], last[: choice.randint(0, len(last))]]


_FRAME_EDITS: Final[tuple[Callable[[list[bytes], random.Random], list[bytes]], ...]] = (
    _drop_frame,
    _repeat_frame,
    _swap_frames,
    _cut_body,
)


def _edit_payload(payload: bytes, choice: random.Random) -> bytes:
    """Return `payload` with one value removed, replaced or added."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return payload
    containers = [*_list_containers(value)]
    if not containers:
        return payload
    container = choice.choice(containers)
    keys: list[Any] = [*container] if isinstance(container, dict) else [*range(len(container))]
    edit = choice.choice(("remove", "replace", "add"))
    if edit == "add" or not keys:
        _add(container, choice)
    elif edit == "remove":
        del container[choice.choice(keys)]
    else:
        container[choice.choice(keys)] = choice.choice(_VALUES)
    # In ASCII, because one of the values is half a surrogate pair, which UTF-8 cannot encode.
    return json.dumps(value).encode()


def _list_containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _list_containers(inner)


def _add(container: Any, choice: random.Random) -> None:
    if isinstance(container, dict):
        container["future_field"] = choice.choice(_VALUES)
    else:
        container.append(choice.choice(_VALUES))
