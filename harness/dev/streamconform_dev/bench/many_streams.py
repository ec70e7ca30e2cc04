"""Write many varied streams to a JSONL file: `python -m streamconform_dev.bench.many_streams COUNT FILE`.

Each stream is a different answer, written for one of the APIs as the fuzzer does: texts, thinking and calls
with random words, and usage. One in twenty is truncated, and one in fifty ends with an error. Stream number N
does not depend on the count.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS as RECORDS
from streamconform.model.outcome import Text, Thinking, ToolCall, Usage
from streamconform.wire.framings import split
from streamconform_capture.fuzz.answers import Answer, Block, Piece
from streamconform_capture.fuzz.writers import WRITERS, write_body

WORDS: Final = (
    *("Bergen", "weather", "it", "is", "21 °C", "rain", "and", "the", "fjord", "naïve", "東京", "🌍", "…"),
    *("train", "at", "08:15", "from", "platform", "4", "cost", "€ 12", "Grüße", "tomorrow", "maybe", "then"),
)
NAMES: Final = ("get_weather", "search", "write_file", "book_train")
BINARY: Final = {
    "bedrock-converse": "application/vnd.amazon.eventstream",
    "bedrock-invoke": "application/vnd.amazon.eventstream",
}
APIS: Final = sorted(WRITERS)


def make_answer(rng: random.Random) -> Answer:
    """Return a random answer, in one piece per block."""
    blocks: list[Block] = []
    if rng.random() < 0.3:
        blocks.append(Thinking(_write(rng, 30), "c2lnbmVk"))
    calls = rng.choice((0, 0, 1, 1, 2, 3))
    if not calls or rng.random() < 0.8:
        blocks.append(Text(_write(rng, 60)))
    for _ in range(calls):
        arguments = {
            rng.choice(WORDS): _write(rng, 5),
            "count": rng.randrange(1000),
            "deep": {"a": [1, None]},
        }
        text = json.dumps(arguments, ensure_ascii=rng.random() < 0.5)
        call_id, name = f"call_{rng.getrandbits(40):x}", rng.choice(NAMES)
        blocks.append(
            ToolCall(id=call_id, name=name, arguments=arguments, arguments_text=text, complete=True)
        )
    return Answer(
        model="model-1",
        blocks=tuple(blocks),
        stop="tool_use" if calls else "stop",
        usage=Usage(input=rng.randrange(1, 5000), output=rng.randrange(1, 900)),
        pieces=tuple(piece for index, block in enumerate(blocks) for piece in _stream_block(index, block)),
        id=f"r_{rng.getrandbits(40):x}",
    )


def _stream_block(index: int, block: Block) -> tuple[Piece, ...]:
    text = block.arguments_text or "" if isinstance(block, ToolCall) else block.text
    return Piece(index, "start"), Piece(index, "text", text), Piece(index, "end")


def fail(api: str, body: bytes) -> bytes:
    """Return a stream that ends with the API's error, if it has one, in place of its last frame."""
    framing = RECORDS[api].framing
    return body[: split(framing, body)[-1].start] + RECORDS[api].ending.error_frame.get(framing, b"")


def make_line(number: int) -> bytes:
    """Return the line for one stream."""
    rng = random.Random(number)  # noqa: S311 - nothing is secret
    api = APIS[number % len(APIS)]
    body = write_body(api, make_answer(rng))
    if rng.random() < 0.02:
        body = fail(api, body)
    if rng.random() < 0.05:
        body = body[: rng.randrange(len(body))]
    line: dict[str, Any] = {"api": api}
    if api in BINARY:
        line |= {"content_type": BINARY[api], "body_base64": base64.b64encode(body).decode()}
    else:
        line |= {"body": body.decode("utf-8", "surrogateescape")}
        try:
            line["body"].encode()
        except UnicodeEncodeError:  # cut inside a character
            line = {"api": api, "body_base64": base64.b64encode(body).decode()}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def write_streams(count: int, path: Path, start: int = 0) -> None:
    """Write the streams from number `start` on."""
    with path.open("wb") as file:
        for number in range(start, start + count):
            file.write(make_line(number))


def _write(rng: random.Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, most)))


if __name__ == "__main__":
    write_streams(int(sys.argv[1]), Path(sys.argv[2]))
