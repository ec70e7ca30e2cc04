"""The grammar of each API, in a separate table because decoders do not need grammars."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from streamconform_reference.apis import CODECS
from streamconform_reference.grammars.grammar import Grammar

__all__ = ["GRAMMARS", "SOCKET_GRAMMARS"]


def _load(name: str) -> dict[str, type[Grammar]]:
    modules = {api: import_module(f"{__package__}.{api.replace('-', '_')}.grammar") for api in CODECS}
    return {api: getattr(module, name) for api, module in modules.items() if hasattr(module, name)}


GRAMMARS: Final[Mapping[str, type[Grammar]]] = _load("GRAMMAR")
SOCKET_GRAMMARS: Final[Mapping[str, type[Grammar]]] = _load("SOCKET_GRAMMAR")
"""The grammars of the messages over a WebSocket, of the APIs that have one."""
