"""Write many varied streams to a JSONL file: `python -m streamconform_dev.bench.many_streams COUNT FILE`.

Each stream is a different answer, which the reference encodes for one of the APIs: texts, thinking and calls
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

from streamconform_reference import ENCODERS, encode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.outcome import Error, Outcome

WORDS: Final = (
    *("Bergen", "weather", "it", "is", "21 °C", "rain", "and", "the", "fjord", "naïve", "東京", "🌍", "…"),
    *("train", "at", "08:15", "from", "platform", "4", "cost", "€ 12", "Grüße", "tomorrow", "maybe", "then"),
)
NAMES: Final = ("get_weather", "search", "write_file", "book_train")
BINARY: Final = {
    "bedrock-converse": "application/vnd.amazon.eventstream",
    "bedrock-invoke": "application/vnd.amazon.eventstream",
}
APIS: Final = sorted(ENCODERS)


def make_outcome(rng: random.Random) -> Outcome:
    """Return a random answer."""
    message = Assembler()
    message.model, message.response_id = "model-1", f"r_{rng.getrandbits(40):x}"
    slot = 0
    if rng.random() < 0.3:
        message.start(slot, "thinking", _write(rng, 30))
        message.end(slot)
        slot += 1
    if rng.random() < 0.8:
        message.start(slot, "text", _write(rng, 60))
        message.end(slot)
        slot += 1
    calls = rng.choice((0, 0, 1, 1, 2, 3))
    for _ in range(calls):
        arguments = {
            rng.choice(WORDS): _write(rng, 5),
            "count": rng.randrange(1000),
            "deep": {"a": [1, None]},
        }
        message.start_call(slot, id=f"call_{rng.getrandbits(40):x}", name=rng.choice(NAMES))
        message.add_arguments(slot, json.dumps(arguments, ensure_ascii=rng.random() < 0.5))
        message.end(slot)
        slot += 1
    message.report_usage({"input": rng.randrange(1, 5000), "output": rng.randrange(1, 900)})
    ending = rng.random()
    if ending < 0.02:
        message.fail(Error("overloaded_error", "Overloaded", None))
    else:
        message.stop("tool_use" if calls else "stop", None)
        message.complete()
    return message.snapshot()


def make_line(number: int) -> bytes:
    """Return the line for one stream."""
    rng = random.Random(number)  # noqa: S311 - nothing is secret
    api = APIS[number % len(APIS)]
    body = encode(ENCODERS, api, make_outcome(rng))
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
