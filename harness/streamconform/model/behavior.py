"""What a script asks of the client and of the server, and the log of what happened (`behavior.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Stop = Literal["abort", "abandon", "cancel"]
"""How the client leaves an answer: by the library's function, by leaving the loop, by cancelling a task."""
Amount = int | Literal["half", "all-but-last", "all"]
StepName = Literal["send", "flood", "wait", "end", "close", "reset"]


class Control(Struct, frozen=True, omit_defaults=True):
    """What an adapter is asked to do in a run, as it is sent (`control` of a run)."""

    stop: Stop | None = None
    """How to leave the answer after the delta number `after`; 0 means before the first byte."""
    after: int | None = None
    retries: Literal["default"] | None = None
    at_once: int | None = None
    times: int | None = None
    pause: Mapping[str, Any] | None = None

    @property
    def answers(self) -> int:
        """Return the number of outcomes that the adapter reports."""
        return self.at_once or self.times or 1


class ScriptStep(Struct, frozen=True):
    """One step of a reply; `send` has the number of frames sent so far, `wait` what it waits for."""

    name: StepName
    amount: Amount | Literal["answer", "requests", "pause"] | None = None


class ScriptedReply(Struct, frozen=True):
    """What the server does with a request: the head of an answer, unless it never answers, and the steps."""

    stream: str
    steps: tuple[ScriptStep, ...]
    status: int | None = None
    """The status, if it is not that of the recorded answer."""
    headers: Mapping[str, str] = {}
    """Headers that replace those of the recorded answer."""
    answers: bool = True
    """Whether the server sends the head of an answer."""

    @property
    def is_whole(self) -> bool:
        """Return whether the server sends the whole answer and its end."""
        return self.status is None and self.steps[-2:] == (ScriptStep("send", "all"), ScriptStep("end"))


LogEvent = Literal[
    "request",
    "status",
    "sent",
    "ended",
    "cut",
    "reset",
    "closed",
    "data",
    "paused",
    "full",
    "accepted",
    "answered",
    "barrier",
    "open",
    "waited",
]
"""`cut` and `reset` are the server's ends of a connection, `closed` is the client's. `data` came within an
answer. `full` means that the server could send no more, `accepted` that the client took everything.
`open` is a connection with an answer that has not ended, at the time of the verdict. `waited` ends a wait in
which nothing happened.
"""


class LogEntry(Struct, frozen=True, omit_defaults=True):
    """Something that happened, as the server saw it."""

    event: LogEvent
    connection: int | None = None
    request: int | None = None
    detail: str | int | None = None
    """The digest of a request's body, a status, or the number of frames or bytes sent so far."""
