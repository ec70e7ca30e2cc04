"""Errors of recording.

Each step of a recording and the errors it raises:

* parse the address and headers: `BadAddress`, `BadHeader`
* connect: `CannotConnect`
* send the request and receive the head: `NoResponse`, on a timeout or a response that is not HTTP
* receive the body: none; a partial body is kept, and `RawRecording.cut` says why it is incomplete
* build the cassette: `UnsuitableExchange`
"""

from __future__ import annotations

from typing import ClassVar

from streamconform.errors import ConformError


class RecordError(ConformError):
    """A recording failed: where, why, and what to do next. The message never contains a header's value."""

    opening: ClassVar[str] = "cannot record from"
    advice: ClassVar[str] = ""

    def __init__(self, where: str, why: str) -> None:
        """Store the reason and the requested address, without its user and password."""
        super().__init__(where, why)
        self.where = where
        self.why = why

    def __str__(self) -> str:
        """Return the message to print."""
        return f"{self.opening} `{self.where}`: {self.why}. {self.advice}".rstrip()


class BadAddress(RecordError):
    """The address is not usable."""

    advice = "Use a base URL such as http://127.0.0.1:8080 and a path that starts with `/`, without keys."


class BadHeader(RecordError):
    """A header contains a character that HTTP forbids, such as the newline after a key read from a file."""

    advice = "Strip surrounding newlines and quotes from the value."


class CannotConnect(RecordError):
    """The connection was refused, the host name is unknown, or TLS failed."""

    opening = "cannot connect to"
    advice = "Start the server, or check the host and port of the base URL."


class NoResponse(RecordError):
    """The server accepted the connection but sent no HTTP response."""

    opening = "no HTTP response from"
    advice = "Check that the server speaks HTTP on this port, or raise the timeout."

    def __init__(self, where: str, why: str, *, timed_out: bool = False) -> None:
        """Store whether the timeout ended the wait."""
        super().__init__(where, why)
        self.timed_out = timed_out


class UnsuitableExchange(RecordError):
    """The exchange was recorded, but a cassette cannot represent it."""

    opening = "cannot make a cassette from the exchange with"


class UnexpectedResponse(RecordError):
    """The server's response is not a stream that a regression test could use."""

    opening = "discarded the response from"


class SecretsLeft(RecordError):
    """The scan found possible secrets; nothing was written."""

    opening = "nothing was written for"
