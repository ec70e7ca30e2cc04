"""The grammar of Telegraph's chat: streams as its own servers send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.grammars.fields import Field, needs
from streamconform_reference.grammars.grammar import ENDED, Grammar, Step, step


class TelegraphChatGrammar(Grammar):
    """Checks one stream of `POST /telegraph/chat`."""

    framing_factory: ClassVar[Callable[[], Framing]] = NdjsonFraming
    source: ClassVar[str] = "https://telegraph.example/docs/chat"
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "text": needs("text", "text"),
        "call": (*needs("name", "id", "name"), *needs("object", "arguments")),
        "end": (*needs("name", "model", "reason"), *needs("count", "usage.sent", "usage.received")),
        "error": needs("text", "message"),
    }
    order: ClassVar[Mapping[str, Step]] = {
        "text": step("before open", "open", "terminal-last"),
        "call": step("before open", "open", "terminal-last"),
        "end": step("before open", ENDED, "one-terminal"),
        "error": step("before open", ENDED, "terminal-last"),
    }

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return the type of a record."""
        del frame
        kind = payload.get("type")
        return kind if isinstance(kind, str) else None


GRAMMAR: Final = TelegraphChatGrammar
