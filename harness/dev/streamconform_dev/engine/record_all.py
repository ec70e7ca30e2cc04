"""Record every scenario for every API: `python -m streamconform_dev.engine.record_all --out DIR`.

It creates the engine's environment (two packages from the index, 220 MB), starts its server on a free local
port, records with the functions of `conform record`, and ends the server by its pid. `--server NAME` does the
same for another engine or a gateway (`servers.py`); a gateway is started in front of the first engine. The
names are always the same, and so are the bytes, except for ids and times: `--against cassettes` compares
them. Expectations are not written, because those of the bundled cases were derived from the bytes by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from streamconform.apis import APIS
from streamconform.errors import ConformError
from streamconform.model.cassette import Cassette
from streamconform.suite import cassettes
from streamconform.wire.framings import split
from streamconform_capture.record.exchange import RecordJob, record_exchange
from streamconform_capture.record.providers import build_streaming_body
from streamconform_dev.engine import servers
from streamconform_dev.engine.bodies import BODIES, EVERYWHERE, MODEL, SCENARIOS, body, saved_body
from streamconform_dev.engine.engine import SERVER, find_weights, install, running
from streamconform_dev.engine.normal import normal
from streamconform_dev.engine.servers import Server

PREFIX = "llama-cpp-"


def main() -> int:
    """Record, print a line per recording, and return 1 if one failed or differs."""
    given = _arguments()
    names = given.only or list(SCENARIOS)
    with tempfile.TemporaryDirectory() as folder:
        python = install(given.venv or Path(folder) / "engine")
        ok = True
        _say(f"{'api':20} {'name':38} {'status':6} {'frames':>6} {'bytes':>7} {'twin':>6} {'against':8}")
        if given.server:
            server = servers.SERVERS[given.server]
            home = given.home or Path(folder) / server.name
            return 0 if _record_server(server, home, python, given) else 1
        for settings, group in groupby(sorted(names, key=_settings), key=_settings):
            with running(python, json.loads(settings)) as base_url:
                for name in group:
                    for api in given.api or BODIES:
                        ok &= _one(_order(api, name, base_url), name, given)
    return 0 if ok else 1


def _record_server(server: Server, home: Path, python: Path, given: argparse.Namespace) -> bool:
    """Record the scenarios of another server; return whether all were recorded without differences."""
    servers.install(server, home)
    weights = find_weights(python)
    with ExitStack() as stack:
        base_url = stack.enter_context(running(python, {})) if server.gateway else ""
        url = stack.enter_context(servers.running(server, home, base_url, weights))
        recorded = [
            _one(_order_from(server, api, name, url), name, given)
            for api, names in server.scenarios.items()
            for name in names
            if (not given.api or api in given.api) and (not given.only or name in given.only)
        ]
        return all(recorded)


def _order_from(server: Server, api: str, name: str, url: str) -> RecordJob:
    order = _order(api, name, url)
    return replace(
        order,
        name=server.prefix + name,
        model=server.model,
        server=server.words,
        twin=False,
        body={**order.body, **({"model": server.model} if "model" in order.body else {})},
    )


def _one(order: RecordJob, name: str, given: argparse.Namespace) -> bool:
    api = order.api
    try:
        if SCENARIOS.get(order.name.removeprefix(PREFIX), {}).get("first"):
            record_exchange(order)
        cassette = _make_valid(record_exchange(order).cassette, order, name)
    except ConformError as error:
        _say(f"{api:20} {order.name:38} {error}")
        return False
    cassettes.save(given.out, cassette)
    same = None if given.against is None else _same(cassette, given.against)
    frames = len(split(APIS[api].detect_framing(cassette.status, cassette.body), cassette.body))
    twin = "-" if cassette.twin is None else str(len(cassette.twin))
    words = {None: "-", True: "same", False: "differs"}[same]
    size = len(cassette.body)
    _say(f"{api:20} {cassette.name:38} {cassette.status:6} {frames:6} {size:7} {twin:>6} {words:8}")
    return same is not False


def _make_valid(cassette: Cassette, order: RecordJob, name: str) -> Cassette:
    """Return the cassette with a request that every client can send; its answer is unchanged."""
    if "saved" not in EVERYWHERE[name]:
        return cassette
    saved = build_streaming_body(saved_body(order.api, name), MODEL) | {"model": order.model}
    return replace(cassette, request=replace(cassette.request, body=saved))


def _order(api: str, name: str, base_url: str) -> RecordJob:
    scenario = EVERYWHERE[name]
    return RecordJob(
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
    """Return the server's settings for a scenario, as a key for grouping."""
    return json.dumps(SCENARIOS[name].get("engine", {}), sort_keys=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m streamconform_dev.engine.record_all", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for cassettes: DIR/<api>/<name>.yaml")
    parser.add_argument(
        "--only", action="append", choices=list(EVERYWHERE), metavar="NAME", help="this scenario"
    )
    parser.add_argument("--api", action="append", choices=list(BODIES), help="this api")
    parser.add_argument("--server", choices=list(servers.SERVERS), help="this engine or gateway")
    parser.add_argument("--home", type=Path, help="the server's environment, made if missing; else a new one")
    parser.add_argument("--venv", type=Path, help="the engine's environment, made if missing; else a new one")
    parser.add_argument("--against", type=Path, help="cassettes to compare with, ids and times aside")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
