"""The form `peer:NAME` of `--impl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform.adapters.forms import Form


def _build_command(name: str) -> tuple[str, ...]:
    # The table of peers is read on import, but most runs use another form.
    from streamconform_peers.environments import build_command

    return build_command(name)


def _list_names() -> Mapping[str, str]:
    from streamconform_peers.table import PEERS

    return {peer.name: peer.through for peer in PEERS.values()}


PEER: Final = Form(_build_command, _list_names)
