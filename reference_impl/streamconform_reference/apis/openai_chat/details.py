"""OpenRouter's details of the reasoning, which the next request must return unmodified and in sequence.

A stream has each text and each summary in pieces, one detail per piece. A run of pieces of one type and index
is one detail, as in the answer without streaming; details of two types stay two, even at the same index.

Source: https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning and
OpenRouterTeam/ai-sdk-provider#519 (summaries and encrypted reasoning share an index)
"""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fragments import Fragments

DETAILS: Final = "reasoning_details"
"""The field of a message, and the kind of the block that keeps it."""
_TEXT_KEYS: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}


class Details:
    """The details of one answer."""

    def __init__(self) -> None:
        """Start with none."""
        self._details: list[Payload] = []
        self._text = Fragments()  # of the last detail

    def add(self, details: Any) -> None:
        """Append the details of one delta."""
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                self._add(detail)

    def whole(self) -> list[Payload]:
        """Return the details, without their pieces."""
        self._join()
        return self._details

    def _add(self, detail: Payload) -> None:
        key = _TEXT_KEYS.get(str(detail.get("type")), "")
        if self._details and key and _continues(self._details[-1], detail, key):
            self._details[-1] |= {name: value for name, value in detail.items() if value is not None}
        else:
            self._join()
            self._details.append(dict(detail))
        text = detail.get(key)
        if isinstance(text, str) and text:
            self._text.add(text)

    def _join(self) -> None:
        """Give the last detail its whole text."""
        self._text.flush()
        if text := self._text.text():
            self._details[-1][_TEXT_KEYS[self._details[-1]["type"]]] = text
        self._text = Fragments()


def _continues(last: Payload, detail: Payload, key: str) -> bool:
    """Whether a detail is the next piece of the last one, which a signature ends; `key` has its text."""
    same = all(last.get(name) == detail.get(name) for name in ("type", "index"))
    return (
        same
        and detail.get("id") in (None, last.get("id"))
        and not (last.get("signature") and detail.get(key))
    )
