"""Mutants that garble a byte if a chunk ends at one kind of place, to show that deliveries cut there.

Each function returns whether `chunk`, after the bytes `before`, begins at such a place. The mutant then reads
`?` instead of the chunk's first byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final, Unpack, cast

from streamconform_reference.adapter import Adapter, adapter_for
from streamconform_reference.apis import DECODERS
from streamconform_reference.framing import Frame, Framing

from .model import GIVES_UP, USAGE
from .registry import Bug, Named, Registry

IsBorder = Callable[[bytearray, bytes], bool]
LONGEST: Final = 16
"""The number of earlier bytes to which a pattern is applied."""
FIELD_NAME: Final = re.compile(rb"(?:^|\n)(?:d|da|dat|e|ev|eve|even)\Z")
ESCAPE: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?\Z")
HIGH_SURROGATE: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
SEPARATOR: Final = re.compile(rb"[\[,]\s*\Z")
USAGE_NAME: Final = re.compile(rb'"usageM?e?t?a?d?a?t?\Z')
PRELUDE_BYTES: Final = 12


class Garbling:
    """The framing of `api`, with a garbled byte at each border."""

    api: ClassVar[str]
    is_border: ClassVar[IsBorder]

    def __init__(self) -> None:
        self._framing: Framing = DECODERS[self.api].framing_factory()
        self._body = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._framing, name)

    def receive(self, data: bytes) -> list[Frame]:
        is_border = bool(self._body and data) and type(self).is_border(self._body, data)
        self._body += data
        return self._framing.receive(b"?" + data[1:] if is_border else data)


class BorderMutants(Registry):
    """Mutants that depend on where the chunks end."""

    def border(self, api: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Garble a byte of one API's streams wherever the decorated function returns true."""

        def make(name: str, is_border: IsBorder) -> Adapter:
            members = {"api": api, "is_border": staticmethod(is_border)}
            framing = cast("Callable[[], Framing]", type("BrokenFraming", (Garbling,), members))
            decoder = type("BrokenDecoder", (DECODERS[api],), {"framing_factory": framing})
            return adapter_for({api: decoder}, name=f"mutant:{name}")

        return self.register(bug, make)


mutants = BorderMutants()


@mutants.border("cohere-chat", kind="reads-as-units", fails=GIVES_UP)
def first_byte_alone(before: bytearray, _: bytes) -> bool:
    """Garbles the second byte if the first one arrives alone."""
    return len(before) == 1


@mutants.border("openai-responses", kind="reads-as-units", fails=GIVES_UP)
def field_name_split(before: bytearray, _: bytes) -> bool:
    """Loses a line of an event whose field name is split between two chunks."""
    return FIELD_NAME.search(before[-LONGEST:]) is not None


@mutants.border("openai-chat", kind="reads-as-units", fails=GIVES_UP)
def blank_line_split(before: bytearray, chunk: bytes) -> bool:
    """Does not recognize the end of an event that is split between two chunks."""
    return before.endswith(b"\n") and chunk.startswith(b"\n")


@mutants.border("anthropic-messages", kind="reads-as-units", fails=GIVES_UP)
def line_end_split(before: bytearray, chunk: bytes) -> bool:
    """Reads the LF of a CRLF that is split between two chunks as text."""
    return before.endswith(b"\r") and chunk.startswith(b"\n")


@mutants.border("openai-responses", kind="reads-as-units", fails=GIVES_UP)
def escape_split(before: bytearray, _: bytes) -> bool:
    """Garbles an escaped character whose escape is split between two chunks."""
    return ESCAPE.search(before[-LONGEST:]) is not None


@mutants.border("anthropic-messages", kind="reads-as-units", fails=GIVES_UP)
def surrogates_split(before: bytearray, chunk: bytes) -> bool:
    """Garbles a character if one half of its escaped surrogate pair is in the next chunk."""
    return chunk.startswith(b"\\") and HIGH_SURROGATE.search(before[-LONGEST:]) is not None


@mutants.border("ollama-chat", kind="reads-as-units", fails=GIVES_UP)
def line_feed_alone(before: bytearray, chunk: bytes) -> bool:
    """Does not end a record at a line feed that arrives after it."""
    return before.endswith(b"}") and chunk.startswith(b"\n")


@mutants.border("google-generate", kind="reads-as-units", fails=GIVES_UP)
def separator_split(before: bytearray, chunk: bytes) -> bool:
    """Loses the opening brace of an object that starts a chunk, after a comma or a bracket."""
    return chunk.startswith(b"{") and SEPARATOR.search(before[-LONGEST:]) is not None


@mutants.border("google-generate", kind="reads-as-units", fails=USAGE)
def usage_name_split(before: bytearray, _: bytes) -> bool:
    """Loses the usage if the word `usageMetadata` is split between two chunks."""
    return USAGE_NAME.search(before[-LONGEST:]) is not None


@mutants.border("bedrock-converse", kind="reads-as-units", fails=GIVES_UP)
def prelude_split(before: bytearray, _: bytes) -> bool:
    """Garbles a message whose lengths and their checksum are split between two chunks."""
    return 0 < len(before) - _find_message(before) < PRELUDE_BYTES


@mutants.border("bedrock-invoke", kind="reads-as-units", fails=GIVES_UP)
def last_byte_alone(before: bytearray, chunk: bytes) -> bool:
    """Garbles the last byte of a message that arrives alone."""
    start = _find_message(before)
    return len(chunk) == 1 and len(before) + 1 - start == int.from_bytes(before[start : start + 4])


def _find_message(body: bytearray) -> int:
    """Return where the last message starts that `body` contains the beginning of."""
    start = 0
    while len(body) >= start + 4 and start + (size := int.from_bytes(body[start : start + 4])) <= len(body):
        start += max(size, 4)
    return start
