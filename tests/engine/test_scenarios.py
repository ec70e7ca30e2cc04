"""The bundled recordings are those that `record_all` makes, without running it."""

from __future__ import annotations

import pytest
from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform.tools.record.providers import build_streaming_body

from .bodies import BODIES, MODEL, SCENARIOS, body
from .engine import SERVER
from .normal import normal
from .record_all import PREFIX

EACH = [pytest.param(api, name, id=f"{api}-{name}") for api in BODIES for name in SCENARIOS]


def recorded(api, name):
    return cassettes.load(find_bundled("cassettes"), api, PREFIX + name)


@pytest.mark.parametrize(("api", "name"), EACH)
def test_a_recording_holds_the_request_of_its_scenario(api, name):
    cassette = recorded(api, name)
    assert cassette.request.body == build_streaming_body(body(api, name), MODEL)
    assert (cassette.status >= 400) == SCENARIOS[name].get("error", False)
    assert (cassette.twin is not None) == SCENARIOS[name].get("twin", False)
    assert (cassette.provenance.server, cassette.provenance.note) == (SERVER, SCENARIOS[name].get("note"))


@pytest.mark.parametrize("api", list(BODIES))
def test_every_recording_of_this_server_has_a_scenario(api):
    found = {path.stem for path in (find_bundled("cassettes") / api).glob(f"{PREFIX}*.yaml")}
    assert found == {PREFIX + name for name in SCENARIOS}
    assert len(found) >= 20
    assert sum(recorded(api, name).twin is not None for name in SCENARIOS) >= 5


def test_ids_times_and_the_number_of_keep_alives_do_not_count():
    one = b':\n\ndata: {"id":"chatcmpl-%s","created":1,"x":"y","timings":{"n":1}}\n\n' % (b"a" * 32)
    two = b':\n\n:\n\ndata: {"id":"chatcmpl-%s","created":22,"x":"y","timings":{"n":2.5}}\n\n' % (b"B7" * 16)
    assert normal(one) == normal(two)
    assert normal(one) != normal(one.replace(b"y", b"z"))


@pytest.mark.parametrize(("api", "name"), [each for each in EACH if each.values[1] in ("text", "tool-auto")])
def test_nothing_else_of_a_recording_is_normalised_away(api, name):
    body_ = recorded(api, name).body
    assert 0.5 < len(normal(body_)) / len(body_) < 1
