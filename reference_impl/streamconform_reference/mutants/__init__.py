"""Parsers and builders of requests with one real bug each, to show that the suite catches it.

A mutant is a module of this package, named like the mutant with `_` for `-`, that has an `adapter`.
It replaces a table entry of a decoder, or wraps a decoder, its framing, its answers or a builder, which
know nothing of it. Its row stands in the table of its api, or of the functions that belong to none.
Importing this module loads none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from streamconform_reference.adapter import Adapter
from streamconform_reference.mutants._anthropic_messages import ANTHROPIC_MESSAGES
from streamconform_reference.mutants._bedrock_converse import BEDROCK_CONVERSE
from streamconform_reference.mutants._cohere_chat import COHERE_CHAT
from streamconform_reference.mutants._common import COMMON
from streamconform_reference.mutants._google_generate import GOOGLE_GENERATE
from streamconform_reference.mutants._mutant import Mutant
from streamconform_reference.mutants._ollama_chat import OLLAMA_CHAT
from streamconform_reference.mutants._openai_chat import OPENAI_CHAT
from streamconform_reference.mutants._openai_responses import OPENAI_RESPONSES
from streamconform_reference.mutants._requests_asked import ASKED
from streamconform_reference.mutants._requests_said import SAID

__all__ = ["MUTANTS", "Mutant", "load"]

MUTANTS: Final[Mapping[str, Mutant]] = {
    mutant.name: mutant
    for mutant in (
        *ANTHROPIC_MESSAGES,
        *OPENAI_CHAT,
        *OPENAI_RESPONSES,
        *GOOGLE_GENERATE,
        *OLLAMA_CHAT,
        *COHERE_CHAT,
        *BEDROCK_CONVERSE,
        *SAID,
        *ASKED,
        *COMMON,
    )
}


def load(name: str) -> Adapter:
    """Return the adapter of a mutant.

    Raises:
        KeyError: there is no such mutant.
    """
    module = MUTANTS[name].name.replace("-", "_")
    adapter: Adapter = import_module(f"{__name__}.{module}").adapter
    return adapter
