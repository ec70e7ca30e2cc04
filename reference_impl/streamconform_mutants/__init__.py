"""Parsers and request builders with one real bug each, to show that the suite catches it.

A mutant is a decorated function or class in its API's module; its name is that of the mutant, the decorator
holds the bug's kind and the checks that may fail, and the docstring describes the bug. A mutant replaces a
table entry of a decoder, or wraps a decoder, its framing, its output or a request builder. None of
these knows about mutants.

`python:streamconform_mutants:NAME` reaches a mutant like any other Python callable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Final

from streamconform_reference.adapter import Adapter

from .model import Mutant

__all__ = ["MUTANTS", "Mutant", "load"]

MUTANTS: Mapping[str, Mutant]
"""All mutants by name. The first use imports every mutant module."""

MODULES: Final = (
    "anthropic_messages",
    "openai_chat",
    "openai_responses",
    "sockets",
    "websocket_frames",
    "google_generate",
    "google_interactions",
    "ollama_chat",
    "cohere_chat",
    "bedrock_converse",
    "bedrock_invoke",
    "messages",
    "openai_and_cohere",
    "google_and_ollama",
    "request_messages",
    "request_options",
    "replays",
    "behaviors",
    "request_settings",
    "every_api",
    "borders",
    "functions",
    "text",
    "long_events",
)


def load(name: str) -> Adapter:
    """Return a mutant's adapter; only the module that defines the mutant is imported.

    Raises:
        KeyError: no mutant has this name.
    """
    # The name is that of a function or class, so the source shows which module to import. A list of names per
    # module would be a second place to edit for each mutant.
    words = "_?".join(map(re.escape, name.split("-")))
    defined = re.compile(rf"^(def|class) {words}\b", re.IGNORECASE | re.MULTILINE)
    for module in MODULES:
        if defined.search(files(__name__).joinpath(f"{module}.py").read_text("utf-8")):
            mutants = _mutants_of(module)
            if name in mutants:
                return mutants[name].adapter
    raise KeyError(name)


def __getattr__(name: str) -> object:
    if name == "MUTANTS":
        return _all_mutants()
    try:
        return load(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no mutant {name!r}") from None


def __dir__() -> list[str]:
    # The message about an unknown mutant suggests the closest of these.
    return [*__all__, *_all_mutants()]


@cache
def _all_mutants() -> Mapping[str, Mutant]:
    return {name: mutant for module in MODULES for name, mutant in _mutants_of(module).items()}


def _mutants_of(module: str) -> Mapping[str, Mutant]:
    mutants: Mapping[str, Mutant] = import_module(f"{__name__}.{module}").mutants.table
    return mutants
