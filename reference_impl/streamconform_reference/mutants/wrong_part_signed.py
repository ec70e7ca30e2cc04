"""The signature of a call goes back on a part of its own."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def apart(asked: Asked, body: dict[str, Any]) -> None:
    """Move every signature of a call to an empty text behind it."""
    del asked
    for content in parts(body):
        content[:] = [each for part in content for each in split(part)]


def split(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the part without its signature, and the signature."""
    if "functionCall" not in part or "thoughtSignature" not in part:
        return [part]
    signature = part.pop("thoughtSignature")
    return [part, {"text": "", "thoughtSignature": signature}]


adapter = asking("wrong-part-signed", "google-generate", sent=apart)
