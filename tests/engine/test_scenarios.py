"""The bundled recordings match those of `record_all`; it is not run."""

from __future__ import annotations

import pytest

from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform_capture.record.providers import build_streaming_body
from streamconform_dev.engine.bodies import BODIES, EVERYWHERE, MODEL, SCENARIOS, saved_body
from streamconform_dev.engine.engine import SERVER
from streamconform_dev.engine.normal import normal
from streamconform_dev.engine.record_all import PREFIX
from streamconform_dev.engine.servers import SERVERS

from ..for_each import for_each

EACH = [pytest.param(api, name, id=f"{api}-{name}") for api in BODIES for name in SCENARIOS]


def recorded(api, name):
    return cassettes.load(find_bundled("cassettes"), api, PREFIX + name)


@for_each(("api", "name"), EACH)
def test_a_recording_holds_the_request_of_its_scenario(api, name):
    cassette = recorded(api, name)
    assert cassette.request.body == build_streaming_body(saved_body(api, name), MODEL)
    assert (cassette.status >= 400) == SCENARIOS[name].get("error", False)
    assert (cassette.twin is not None) == SCENARIOS[name].get("twin", False)
    assert (cassette.provenance.server, cassette.provenance.note) == (SERVER, SCENARIOS[name].get("note"))


@pytest.mark.parametrize("api", list(BODIES))
def test_every_recording_of_this_server_has_a_scenario(api):
    found = {path.stem for path in (find_bundled("cassettes") / api).glob(f"{PREFIX}*.yaml")}
    assert found == {PREFIX + name for name in SCENARIOS}
    assert len(found) >= 20
    assert sum(recorded(api, name).twin is not None for name in SCENARIOS) >= 5


OTHERS = [
    pytest.param(server, api, name, id=f"{server.name}-{api}-{name}")
    for server in SERVERS.values()
    for api, names in server.scenarios.items()
    for name in names
]


@for_each(("server", "api", "name"), OTHERS)
def test_a_recording_of_another_server_holds_the_request_of_its_scenario(server, api, name):
    cassette = cassettes.load(find_bundled("cassettes"), api, server.prefix + name)
    wanted = build_streaming_body(saved_body(api, name), MODEL) | {"model": server.model}
    assert cassette.request.body == wanted
    assert (cassette.status >= 400) == EVERYWHERE[name].get("error", False)
    assert cassette.provenance.server == server.words


@pytest.mark.parametrize("server", SERVERS.values(), ids=lambda server: server.name)
def test_every_recording_of_another_server_is_in_its_table(server):
    folder = find_bundled("cassettes")
    found = {
        (path.parent.name, path.stem.removeprefix(server.prefix))
        for path in folder.glob(f"*/{server.prefix}*.yaml")
        if cassettes.load(folder, path.parent.name, path.stem).provenance.kind == "recorded"
    }
    assert found == {(api, name) for api, names in server.scenarios.items() for name in names}


def test_ids_times_and_the_number_of_keep_alives_do_not_count():
    one = b':\n\ndata: {"id":"chatcmpl-%s","created":1,"x":"y","timings":{"n":1}}\n\n' % (b"a" * 32)
    two = b':\n\n:\n\ndata: {"id":"chatcmpl-%s","created":22,"x":"y","timings":{"n":2.5}}\n\n' % (b"B7" * 16)
    assert normal(one) == normal(two)
    assert normal(one) != normal(one.replace(b"y", b"z"))


@pytest.mark.parametrize(("api", "name"), [each for each in EACH if each.values[1] in ("text", "tool-auto")])
def test_nothing_else_of_a_recording_is_normalised_away(api, name):
    body_ = recorded(api, name).body
    assert 0.5 < len(normal(body_)) / len(body_) < 1
