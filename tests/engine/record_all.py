"""Records every scenario for every api from nothing: `python -m tests.engine.record_all --out DIR`.

Makes the engine's environment (two packages from the index, 220 MB), starts its server on a free port of
this machine, records through the functions behind `conform record`, and ends the server by its pid. The names
are the same each time, and so are the bytes but for ids and times: `--against cassettes` compares them.
Expectations are not written: those of the bundled cases were read off the bytes by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from streamconform.apis import APIS
from streamconform.errors import ConformError
from streamconform.model.cassette import Cassette
from streamconform.suite import cassettes
from streamconform.tools.record.exchange import RecordJob, record_exchange
from streamconform.wire.framings import split

from .bodies import BODIES, MODEL, SCENARIOS, body
from .engine import SERVER, install, running
from .normal import normal

PREFIX = "llama-cpp-"


def main() -> int:
    """Record, print a line a recording, and return 1 if one failed or differs."""
    given = _arguments()
    names = given.only or list(SCENARIOS)
    with tempfile.TemporaryDirectory() as folder:
        python = install(given.venv or Path(folder) / "engine")
        ok = True
        _say(f"{'api':20} {'name':38} {'status':6} {'frames':>6} {'bytes':>7} {'twin':>6} {'against':8}")
        for settings, group in groupby(sorted(names, key=_settings), key=_settings):
            with running(python, json.loads(settings)) as base_url:
                for name in group:
                    for api in given.api or BODIES:
                        ok &= _one(api, name, base_url, given)
    return 0 if ok else 1


def _one(api: str, name: str, base_url: str, given: argparse.Namespace) -> bool:
    try:
        cassette = _record(api, name, base_url)
    except ConformError as error:
        _say(f"{api:20} {PREFIX + name:38} {error}")
        return False
    cassettes.save(given.out, cassette)
    same = None if given.against is None else _same(cassette, given.against)
    frames = len(split(APIS[api].detect_framing(cassette.status, cassette.body), cassette.body))
    twin = "-" if cassette.twin is None else str(len(cassette.twin))
    words = {None: "-", True: "same", False: "differs"}[same]
    size = len(cassette.body)
    _say(f"{api:20} {cassette.name:38} {cassette.status:6} {frames:6} {size:7} {twin:>6} {words:8}")
    return same is not False


def _record(api: str, name: str, base_url: str) -> Cassette:
    scenario = SCENARIOS[name]
    order = RecordJob(
        api=api,
        base_url=base_url,
        model=MODEL,
        name=PREFIX + name,
        body=body(api, name),
        twin=scenario.get("twin", False),
        allow_error=scenario.get("error", False),
        server=SERVER,
        note=scenario.get("note"),
    )
    if scenario.get("first"):
        record_exchange(order)
    return record_exchange(order).cassette


def _same(cassette: Cassette, folder: Path) -> bool:
    try:
        other = cassettes.load(folder, cassette.api, cassette.name)
    except ConformError:
        return False
    mine, theirs = (
        (each.request, each.status, normal(each.body), normal(each.twin or b"")) for each in (cassette, other)
    )
    return mine == theirs


def _settings(name: str) -> str:
    """Return what the server is started with for a scenario, as a key to group by."""
    return json.dumps(SCENARIOS[name].get("engine", {}), sort_keys=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.engine.record_all", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for cassettes: DIR/<api>/<name>.yaml")
    parser.add_argument(
        "--only", action="append", choices=list(SCENARIOS), metavar="NAME", help="this scenario"
    )
    parser.add_argument("--api", action="append", choices=list(BODIES), help="this api")
    parser.add_argument("--venv", type=Path, help="the engine's environment, made if missing; else a new one")
    parser.add_argument("--against", type=Path, help="cassettes to compare with, ids and times aside")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
