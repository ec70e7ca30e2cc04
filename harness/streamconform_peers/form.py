"""The form `peer:NAME` of `--impl`."""

from __future__ import annotations

from typing import Final

from streamconform.adapters.forms import Form

from streamconform_peers.environments import build_command
from streamconform_peers.table import PEERS

PEER: Final = Form(build_command, lambda: {peer.name: peer.through for peer in PEERS.values()})
