"""Tokens by modality, for prices that differ between text, audio and images.

Source: https://ai.google.dev/api/generate-content#ModalityTokenCount
"""

from __future__ import annotations

from collections.abc import Mapping

from .decoder import Payload
from .fields import read_count, read_objects


def read_modalities(usage: Payload, fields: Mapping[str, str], count: str) -> dict[str, dict[str, int]]:
    """Return the tokens by modality, from the lists under the keys of `fields`; `count` is the numbers' key.

    Cached tokens are included in `prompt` too, and are subtracted from it.
    """
    found: dict[str, dict[str, int]] = {}
    for name, part in fields.items():
        for entry in read_objects(usage, name):
            tokens, modality = read_count(entry, count), entry.get("modality")
            # Some servers send enums as numbers; modalities without a name have the common price.
            if tokens is not None and isinstance(modality, str):
                counts = found.setdefault(modality.lower(), {})
                counts[part] = counts.get(part, 0) + tokens
    for counts in found.values():
        if "prompt" in counts:
            counts["input"] = max(counts.pop("prompt") - counts.get("cache_read", 0), 0)
    return found
