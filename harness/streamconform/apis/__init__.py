"""Everything the harness knows about each API: one frozen `Api` record per API, in a separate module.

`APIS["openai-chat"]` is the record of an API. Functions in other packages read these records; they contain no
per-API tables, and do not compare API names.

To add an API to the harness:

1. Write `apis/<name>.py`, with underscores instead of the name's hyphens: an `API` of type `Api`, and the
   small pure functions that it needs. Every field is documented in `api.py`; `ollama_chat.py` is a short
   example.
2. Add its name to `NAMES` below. Lists and reports use this order.
3. Record the two cassettes that its `smoke` names, in `cassettes/<name>/`.
4. Run `pytest tests/harness/test_apis.py`, which checks that the record is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from streamconform.apis.api import Api

NAMES: Final = (
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "google-generate",
    "google-interactions",
    "ollama-chat",
    "cohere-chat",
    "bedrock-converse",
    "bedrock-invoke",
)
TEMPLATE_API: Final = "openai-chat"
"""The API that most servers offer; adapters written by `conform init` contain a small reader for it."""


def _load(name: str) -> Api:
    api: Api = import_module(f"{__name__}.{name.replace('-', '_')}").API
    return api


APIS: Final[Mapping[str, Api]] = MappingProxyType({name: _load(name) for name in NAMES})
"""The record of each API by name; an unknown name raises `KeyError`."""


def find_api(name: str) -> Api | None:
    """Return the API with this name in the suite, or else in a corpus; None if there is none."""
    found = APIS.get(name)
    if found is not None:
        return found
    return next((api for api in APIS.values() if name in api.importing.corpus_names), None)
