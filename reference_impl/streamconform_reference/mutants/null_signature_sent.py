"""A part that nothing signs has the signature null."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def nulls(asked: Asked, body: dict[str, Any]) -> None:
    """Write the field in any case."""
    del asked
    for content in parts(body):
        for part in content:
            part.setdefault("thoughtSignature", None)


adapter = asking("null-signature-sent", "google-generate", sent=nulls)
