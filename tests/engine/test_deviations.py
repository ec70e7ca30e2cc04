"""The page of deviations is generated from the probe's results."""

from __future__ import annotations

from streamconform_dev.engine.probe_all import PAGE, read_deviations, render
from streamconform_dev.engine.servers import SERVERS


def test_the_page_shows_what_was_found():
    assert PAGE.read_text("utf-8") == render(read_deviations())


def test_every_server_was_probed_in_every_api_that_is_recorded():
    probed = {name: (each["server"], set(each["apis"])) for name, each in read_deviations().items()}
    assert probed == {server.name: (server.words, set(server.scenarios)) for server in SERVERS.values()}
