"""Write `specs/shapes/<api>.json`, the known shapes: `python -m streamconform_dev.corpus.write_shapes`.

Fetch the recordings first (`conform run --recorded --pull`), and run `conform peers install` for the SDKs in
`OFFICIAL_TYPES`. Shapes come from the suite's recordings, from pulled recordings, and from the types that
providers publish; of the latter, only those that authored streams have. With `--link`, each case with an
authored stream gets a `seen_in`: the case with a real stream that ends in the same way, has every field of
it, and has the fewest other fields.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.model.case import Case
from streamconform.model.cassette import Cassette
from streamconform.model.leaf import list_values
from streamconform.suite.lint_shapes import REAL, find_fields, is_stream, read_form
from streamconform.suite.load import Sources, list_spec_files, load
from streamconform.suite.shapes import DOCUMENTED, FOLDER, Shape
from streamconform_capture.corpus import cache
from streamconform_dev.checkout import ROOT
from streamconform_peers.environments import find_peer, get_environments_folder, read_environment

SPECS: Final = ROOT / "specs"
CLAUDE: Final = ("anthropic.types:RawMessageStreamEvent", "anthropic.types.beta:BetaRawMessageStreamEvent")
INTERACTIONS: Final = "google.genai._gaos.types.interactions:InteractionSSEEvent"
OFFICIAL_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic-messages": ("anthropic", *CLAUDE),
    "bedrock-converse": ("boto3", "bedrock:ConverseStream"),
    "bedrock-invoke": ("anthropic", *CLAUDE),
    "cohere-chat": ("cohere", "cohere.v2.types:V2ChatStreamResponse"),
    "google-generate": ("google-genai", "google.genai.types:GenerateContentResponse"),
    "google-interactions": ("google-genai", INTERACTIONS),
    "ollama-chat": ("ollama", "ollama:ChatResponse"),
    "openai-chat": ("openai", "openai.types.chat:ChatCompletionChunk"),
    "openai-responses": ("openai", "openai.types.responses:ResponseStreamEvent"),
}
"""For each API, the SDK of its provider, and the classes of its payloads."""
CASSETTE_LINE: Final = re.compile(r"    cassette: ")
SEEN_IN_LINE: Final = re.compile(r"    seen_in: .*\n")


def main() -> None:
    """Write every file and, if requested, the counterparts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--link", action="store_true", help="also write the `seen_in` of cases")
    given = parser.parse_args()
    sources = Sources(SPECS, ROOT / "cassettes", cache.locate_root(None))
    cases = [
        case
        for case in load(sources, list_spec_files(SPECS, recorded=True))
        if isinstance(case, Case) and is_stream(case.cassette)
    ]
    if not any(case.cassette.provenance.kind == "pulled" for case in cases):
        sys.exit("nothing was pulled; run `conform run --recorded --pull`")
    shapes = {case.id: read_form(case.cassette) for case in cases}
    for api in OFFICIAL_TYPES:
        own = [case for case in cases if case.api == api]
        real = [case for case in own if case.cassette.provenance.kind in REAL]
        authored = [case for case in own if case.cassette.provenance.kind == "authored"]
        origins = {shape: _name(case.cassette) for case in reversed(real) for shape in shapes[case.id]}
        needed = {shape for case in authored for shape in shapes[case.id]} - origins.keys()
        origins |= dict.fromkeys(needed & read_official_types(api), DOCUMENTED)
        path = SPECS / FOLDER / f"{api}.json"
        path.write_text(format_shapes(api, origins), "utf-8")
        line = f"{path.relative_to(ROOT)}: {len(origins)} shapes, {len(needed)} in authored streams only"
        if given.link:
            found = {case.id: find_counterpart(case, real, shapes) for case in authored}
            write_counterparts(authored, found)
            line += f"; {sum(map(bool, found.values()))} of {len(authored)} cases have a counterpart"
        sys.stdout.write(f"{line}\n")


def _name(cassette: Cassette) -> str:
    origin = cassette.provenance
    return f"{origin.source.partition(' ')[0]}/{cassette.name}" if origin.kind == "pulled" else cassette.name


def read_official_types(api: str) -> frozenset[Shape]:
    """Return the shapes that the types of the provider's SDK describe."""
    name, *classes = OFFICIAL_TYPES[api]
    peer = find_peer(name)
    environment = read_environment(get_environments_folder(), peer)
    if environment is None:
        sys.exit(f"`{name}` is not installed; run `conform peers install {name}`")
    words = (str(environment.runtime), str(Path(__file__).with_name("sdk_types.py")), *classes)
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return frozenset(Shape(*json.loads(line)) for line in done.stdout.splitlines())


def format_shapes(api: str, origins: Mapping[Shape, str]) -> str:
    """Return the content of the file, with a line for each path of each event."""
    events: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for shape in sorted(origins):
        events[shape.event][shape.path][shape.type] = origins[shape]
    parts = []
    for event, fields in events.items():
        lines = ",\n".join(f"   {json.dumps(path)}: {json.dumps(kinds)}" for path, kinds in fields.items())
        parts.append(f"  {json.dumps(event)}: {{\n{lines}\n  }}")
    return f'{{\n "shapes": 1,\n "api": "{api}",\n "events": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def find_counterpart(case: Case, real: Iterable[Case], shapes: Mapping[str, frozenset[Shape]]) -> str | None:
    """Return the case id of the real stream that is most like the stream of `case`, or None."""
    fields = find_fields(shapes[case.id])
    ending = describe_ending(case)
    like = [other for other in real if describe_ending(other) == ending and fields <= shapes[other.id]]
    return min(like, key=lambda other: (len(shapes[other.id]), other.id)).id if like else None


def describe_ending(case: Case) -> tuple[Any, ...]:
    """Return the expected status, stop reason and block types."""
    content = case.expect.content
    names = ("status", "stop.reason")
    leaves = (list_values(case.expect.fields.get(name)) for name in names)
    blocks = None if content is None else tuple(block.type for block in content)
    return (*(tuple(values or ()) for values in leaves), blocks)


def write_counterparts(cases: Iterable[Case], found: Mapping[str, str | None]) -> None:
    """Write, change or delete the `seen_in` of each case, below its `cassette`."""
    by_path: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_path[case.path].append(case)
    for path, own in by_path.items():
        lines = Path(path).read_text("utf-8").splitlines(keepends=True)
        for case in sorted(own, key=lambda each: -each.line):
            _write_counterpart(lines, case.line - 1, found[case.id])
        Path(path).write_text("".join(lines), "utf-8")


def _write_counterpart(lines: list[str], start: int, other: str | None) -> None:
    end = next((n for n in _following(lines, start) if lines[n].startswith("  - ")), len(lines))
    for number in range(end - 1, start, -1):
        if SEEN_IN_LINE.fullmatch(lines[number]):
            del lines[number]
            end -= 1
    cassette = next((n for n in range(start, end) if CASSETTE_LINE.match(lines[n])), None)
    if other is not None and cassette is not None:
        lines.insert(cassette + 1, f"    seen_in: {other}\n")


def _following(lines: list[str], start: int) -> Iterator[int]:
    return iter(range(start + 1, len(lines)))


if __name__ == "__main__":
    main()
