"""What can go wrong while recording.

The life of a recording, and what each step can raise:

* address and headers are read: `BadAddress`, `BadHeader`
* the connection is made: `CannotConnect`
* the request goes out and the head comes in: `NoAnswer`, for none in time or one that is not HTTP
* the body comes in: nothing; what came is kept, and `Recording.cut` says why it ends
* a cassette is made of it: `Unsuitable`
"""

from __future__ import annotations

from typing import ClassVar

from streamconform.errors import ConformError


class RecordError(ConformError):
    """Nothing can be kept: where it was, why, and what to do next. Never holds a header's value."""

    opening: ClassVar[str] = "cannot record from"
    advice: ClassVar[str] = ""

    def __init__(self, where: str, why: str) -> None:
        """Keep the address that was asked, without user and password, and the reason in plain words."""
        super().__init__(where, why)
        self.where = where
        self.why = why

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.opening} `{self.where}`: {self.why}. {self.advice}".rstrip()


class BadAddress(RecordError):
    """The address cannot be used as it is."""

    advice = "Give a base URL such as http://127.0.0.1:8080, and a path from `/` on, without keys."


class BadHeader(RecordError):
    """A header holds what HTTP does not allow, such as the line end of a key that was read from a file."""

    advice = "Strip line ends and quotes around the value."


class CannotConnect(RecordError):
    """Nobody listens there, the name is unknown, or TLS failed."""

    opening = "cannot connect to"
    advice = "Start the server, or check host and port of the base URL."


class NoAnswer(RecordError):
    """The server took the connection and gave no HTTP response."""

    opening = "no HTTP answer from"
    advice = "Check that it speaks HTTP on this port, or raise the timeout."


class Unsuitable(RecordError):
    """The exchange was recorded, and a cassette cannot hold it."""

    opening = "no cassette can be made of the exchange with"


class NotAnAnswer(RecordError):
    """The server answered, but not with what a regression test would be about."""

    opening = "nothing is kept of the answer from"


class SecretsLeft(RecordError):
    """The last look found what may be secret; nothing was written."""

    opening = "nothing is written of the exchange with"
