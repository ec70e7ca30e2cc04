"""Record every round trip for every API: `python -m streamconform_dev.engine.record_round_trips --out DIR`.

Each has two exchanges: the question, and the question followed by the calls of the answer, unchanged, and the
results of the tools. The answer is parsed here, in a few lines that only support this engine. Like
`record_all`, it starts the engine on a free port and ends it; `--against cassettes` compares.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streamconform.errors import ConformError
from streamconform.model.cassette import Cassette
from streamconform.suite import cassettes
from streamconform_capture.record.exchange import RecordJob, record_exchange
from streamconform_dev.engine.bodies import BODIES, MODEL, ROUND_TRIPS, request, turns_of
from streamconform_dev.engine.engine import SERVER, install, running
from streamconform_dev.engine.normal import normal

Json = dict[str, Any]

PREFIX = "round-trip-llama-cpp-"
HALVES = ("", "-answer")
"""The suffixes of the names of the two cassettes."""


def name_of(scenario: str, half: str) -> str:
    """Return the name of a cassette."""
    return f"{PREFIX}{scenario}{half}"


def body(api: str, name: str, first: bytes | None = None) -> Json:
    """Return the first request or, given the bytes of the first answer, the second."""
    scenario = ROUND_TRIPS[name]
    turns = list(turns_of(scenario))
    if first is None:
        return request(api, scenario, turns)
    answer = READERS[api](list(payloads(first)))
    results = [
        each if "text" in each else {"text": text_of(each)} for each in map(as_mapping, scenario["results"])
    ]
    said = [(call[0], each["text"]) for call, each in zip(answer["calls"], results, strict=True)]
    made = request(api, scenario, [*turns, answer, {"results": said}])
    if api == "anthropic-messages":
        for block, each in zip(made["messages"][-1]["content"], results, strict=True):
            block.update({"is_error": True} if each.get("error") else {})
    return made


def as_mapping(result: Any) -> Json:
    """Return a result as a mapping; text becomes {text: …}."""
    return {"text": result} if isinstance(result, str) else result


def text_of(value: Json) -> str:
    """Return the compact JSON text of a result."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def payloads(stream: bytes) -> Iterator[Json]:
    """Yield the contents of a stream's `data` lines."""
    for line in stream.decode().split("\n"):
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def chat_answer(events: list[Json]) -> Json:
    """Return the turn in a chat stream: {thinking?, calls: [(id, name, arguments)]}."""
    deltas = [each["choices"][0]["delta"] for each in events if each.get("choices")]
    calls: dict[int, list[str]] = {}
    for fragment in [part for delta in deltas for part in delta.get("tool_calls", [])]:
        call = calls.setdefault(fragment["index"], [fragment.get("id", ""), "", ""])
        call[1] += fragment["function"].get("name", "")
        call[2] += fragment["function"].get("arguments", "")
    return turn("".join(delta.get("reasoning_content", "") for delta in deltas), list(calls.values()))


def messages_answer(events: list[Json]) -> Json:
    """Return the turn in a stream of Messages."""
    calls = {
        each["index"]: [each["content_block"]["id"], each["content_block"]["name"], ""]
        for each in events
        if each["type"] == "content_block_start" and each["content_block"]["type"] == "tool_use"
    }
    thinking = ""
    for each in [each for each in events if each["type"] == "content_block_delta"]:
        thinking += each["delta"].get("thinking", "")
        if "partial_json" in each["delta"]:
            calls[each["index"]][2] += each["delta"]["partial_json"]
    return turn(thinking, list(calls.values()))


def responses_answer(events: list[Json]) -> Json:
    """Return the turn in a stream of Responses."""
    items = [each["item"] for each in events if each["type"] == "response.output_item.done"]
    thinking = [part["text"] for item in items if item["type"] == "reasoning" for part in item["content"]]
    calls = [[item["call_id"], item["name"], item["arguments"]] for item in items if "call_id" in item]
    return turn("".join(thinking), calls)


def turn(thinking: str, calls: list[list[str]]) -> Json:
    """Return the turn of an answer."""
    made: Json = {"calls": [(id_, name, json.loads(given)) for id_, name, given in calls]}
    return {"thinking": thinking, **made} if thinking else made


READERS = {
    "anthropic-messages": messages_answer,
    "openai-chat": chat_answer,
    "openai-responses": responses_answer,
}


def main() -> int:
    """Record, print a line a recording, and return 1 if one failed or differs."""
    given = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        python = install(given.venv or Path(folder) / "engine")
        with running(python, {}) as base_url:
            each = [(api, name) for name in given.only or ROUND_TRIPS for api in given.api or BODIES]
            same = [_trip(api, name, base_url, given) for api, name in each]
    return 0 if all(same) else 1


def _trip(api: str, name: str, base_url: str, given: argparse.Namespace) -> bool:
    first: bytes | None = None
    same = True
    for half in HALVES:
        try:
            cassette = _record(api, name, half, body(api, name, first), base_url)
        except (ConformError, ValueError, LookupError) as error:
            sys.stdout.write(f"{api:20} {name_of(name, half):38} {type(error).__name__}: {error}\n")
            return False
        first = cassette.body
        cassettes.save(given.out, cassette)
        same = same and (given.against is None or _same(cassette, given.against))
        sys.stdout.write(
            f"{api:20} {cassette.name:38} {len(cassette.body):7} {'same' if same else 'differs'}\n"
        )
        sys.stdout.flush()
    return same


def _record(api: str, name: str, half: str, body_: Json, base_url: str) -> Cassette:
    order = RecordJob(
        api=api,
        base_url=base_url,
        model=MODEL,
        name=name_of(name, half),
        body=body_,
        server=SERVER,
        note=ROUND_TRIPS[name].get("note"),
    )
    return record_exchange(order).cassette


def _same(cassette: Cassette, folder: Path) -> bool:
    try:
        other = cassettes.load(folder, cassette.api, cassette.name)
    except ConformError:
        return False
    return normal(cassette.body) == normal(other.body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m streamconform_dev.engine.record_round_trips",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for cassettes: DIR/<api>/<name>.yaml")
    parser.add_argument("--only", action="append", choices=list(ROUND_TRIPS), help="this round trip")
    parser.add_argument("--api", action="append", choices=list(BODIES), help="this api")
    parser.add_argument("--venv", type=Path, help="the engine's environment, made if missing; else a new one")
    parser.add_argument("--against", type=Path, help="cassettes to compare with, ids and times aside")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
