"""The grammar of each API, in a separate table because decoders do not need grammars."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from streamconform_reference.apis import CODECS
from streamconform_reference.grammars.grammar import Grammar

__all__ = ["GRAMMARS"]


def _load(api: str) -> type[Grammar]:
    grammar: type[Grammar] = import_module(f"{__package__}.{api.replace('-', '_')}.grammar").GRAMMAR
    return grammar


GRAMMARS: Final[Mapping[str, type[Grammar]]] = {api: _load(api) for api in CODECS}
