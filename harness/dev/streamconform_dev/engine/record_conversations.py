"""Record every conversation for every API: `python -m streamconform_dev.engine.record_conversations --out D`.

Each request after the first contains the request before it, the answer, unchanged, and what the client adds;
with two requests, it is a round trip. The answers are parsed here, in a few lines that only support this
engine. Like `record_all`, it starts the engine on a free port and ends it; `--against cassettes` compares.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from streamconform.errors import ConformError
from streamconform.model.cassette import Cassette
from streamconform.suite import cassettes
from streamconform_capture.record.exchange import RecordJob, record_exchange
from streamconform_dev.engine.bodies import BODIES, CONVERSATIONS, MODEL, request, turns_of
from streamconform_dev.engine.engine import SERVER, install, running
from streamconform_dev.engine.normal import normal

Json = dict[str, Any]

ROUND_TRIP = "round-trip-llama-cpp-"
REPLAY = "replay-llama-cpp-"


def names_of(name: str) -> list[str]:
    """Return the names of the cassettes of a conversation, one for each request."""
    turns = len(CONVERSATIONS[name]["then"])
    if turns == 1:
        return [f"{ROUND_TRIP}{name}", f"{ROUND_TRIP}{name}-answer"]
    return [f"{REPLAY}{name}-{number}" for number in range(1, turns + 2)]


def body(api: str, name: str, answers: Sequence[bytes] = ()) -> Json:
    """Return the request that follows `answers`, the bytes of all answers so far."""
    scenario = CONVERSATIONS[name]
    turns = list(turns_of(scenario))
    for stream, then in zip(answers, scenario["then"], strict=False):
        answer = READERS[api](list(payloads(stream)))
        turns += [answer, then if "user" in then else results_of(answer, then["results"])]
    return request(api, scenario, turns)


def results_of(answer: Json, results: list[Any]) -> Json:
    """Return the turn with the results of the answer's calls; a mapping without `text` is a JSON value."""
    given = [{"text": each} if isinstance(each, str) else each for each in results]
    said = [
        (call, each.get("text") or text_of(each))
        for (call, *_), each in zip(answer["calls"], given, strict=True)
    ]
    failed = [call for (call, _), each in zip(said, given, strict=True) if each.get("error")]
    return {"results": said, "failed": failed}


def text_of(value: Json) -> str:
    """Return the compact JSON text of a result."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def payloads(stream: bytes) -> Iterator[Json]:
    """Yield the contents of a stream's `data` lines."""
    for line in stream.decode().split("\n"):
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def chat_answer(events: list[Json]) -> Json:
    """Return the turn in a chat stream."""
    deltas = [each["choices"][0]["delta"] for each in events if each.get("choices")]
    calls: dict[int, list[str]] = {}
    for fragment in [part for delta in deltas for part in delta.get("tool_calls", [])]:
        call = calls.setdefault(fragment["index"], [fragment.get("id", ""), "", ""])
        call[1] += fragment["function"].get("name", "")
        call[2] += fragment["function"].get("arguments", "")
    thinking = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    return turn(thinking, "".join(delta.get("content") or "" for delta in deltas), list(calls.values()))


def messages_answer(events: list[Json]) -> Json:
    """Return the turn in a stream of Messages."""
    calls = {
        each["index"]: [each["content_block"]["id"], each["content_block"]["name"], ""]
        for each in events
        if each["type"] == "content_block_start" and each["content_block"]["type"] == "tool_use"
    }
    thinking = text = ""
    for each in [each for each in events if each["type"] == "content_block_delta"]:
        thinking += each["delta"].get("thinking", "")
        text += each["delta"].get("text", "")
        if "partial_json" in each["delta"]:
            calls[each["index"]][2] += each["delta"]["partial_json"]
    return turn(thinking, text, list(calls.values()))


def responses_answer(events: list[Json]) -> Json:
    """Return the turn in a stream of Responses."""
    items = [each["item"] for each in events if each["type"] == "response.output_item.done"]
    thinking, text = (
        "".join(part["text"] for item in items if item["type"] == type_ for part in item["content"])
        for type_ in ("reasoning", "message")
    )
    calls = [[item["call_id"], item["name"], item["arguments"]] for item in items if "call_id" in item]
    return turn(thinking, text, calls)


def turn(thinking: str, text: str, calls: list[list[str]]) -> Json:
    """Return the turn of an answer: {thinking?, assistant} or {thinking?, calls: [(id, name, arguments)]}."""
    made: Json = {"thinking": thinking} if thinking else {}
    if not calls:
        return made | {"assistant": text}
    if text:
        raise ValueError(f"text beside calls: {text!r}")
    return made | {"calls": [(id_, name, json.loads(given)) for id_, name, given in calls]}


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
        same = [
            _conversation(api, name, python, given)
            for name in given.only or CONVERSATIONS
            for api in given.api or BODIES
        ]
    return 0 if all(same) else 1


def _conversation(api: str, name: str, python: Path, given: argparse.Namespace) -> bool:
    """Record one with a server of its own, whose cache is empty."""
    answers: list[bytes] = []
    same = True
    with running(python, CONVERSATIONS[name].get("engine", {})) as base_url:
        for each in names_of(name):
            try:
                cassette = record_exchange(_order(api, name, each, answers, base_url)).cassette
            except (ConformError, ValueError, LookupError) as error:
                sys.stdout.write(f"{api:20} {each:38} {type(error).__name__}: {error}\n")
                return False
            answers.append(cassette.body)
            cassettes.save(given.out, cassette)
            same = same and (given.against is None or _same(cassette, given.against))
            words = "same" if same else "differs"
            sys.stdout.write(f"{api:20} {cassette.name:38} {len(cassette.body):7} {words}\n")
            sys.stdout.flush()
    return same


def _order(api: str, name: str, cassette: str, answers: list[bytes], base_url: str) -> RecordJob:
    return RecordJob(
        api=api,
        base_url=base_url,
        model=MODEL,
        name=cassette,
        body=body(api, name, answers),
        server=SERVER,
        note=CONVERSATIONS[name].get("note"),
    )


def _same(cassette: Cassette, folder: Path) -> bool:
    try:
        other = cassettes.load(folder, cassette.api, cassette.name)
    except ConformError:
        return False
    return normal(cassette.body) == normal(other.body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m streamconform_dev.engine.record_conversations",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for cassettes: DIR/<api>/<name>.yaml")
    parser.add_argument("--only", action="append", choices=list(CONVERSATIONS), help="this conversation")
    parser.add_argument("--api", action="append", choices=list(BODIES), help="this api")
    parser.add_argument("--venv", type=Path, help="the engine's environment, made if missing; else a new one")
    parser.add_argument("--against", type=Path, help="cassettes to compare with, ids and times aside")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
