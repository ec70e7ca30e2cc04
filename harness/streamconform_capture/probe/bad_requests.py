"""The requests that a server must reject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from streamconform.apis.api import Probing


def applies_to_every_api(probing: Probing) -> bool:
    """Return True: every API can express this request."""
    del probing
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest:
    """A request that must be rejected with the API's error document."""

    name: str
    title: str
    statuses: frozenset[int]
    """The providers' status codes; any other status from 400 to 499 is a warning."""
    broken: Literal["json", "messages", "model", "tool", "tool-type", "key"]
    level: Literal["must", "should"] = "must"
    possible: Callable[[Probing], bool] = applies_to_every_api
    """Whether a request to the API can contain this mistake."""


INVALID: Final = frozenset({400, 422})
BAD_REQUESTS: Final = (
    RefusedRequest(name="bad-json", title="A body that is not JSON", statuses=INVALID, broken="json"),
    RefusedRequest(name="no-messages", title="A body without messages", statuses=INVALID, broken="messages"),
    RefusedRequest(
        name="unknown-model",
        title="A model that does not exist",
        statuses=frozenset({400, 404}),
        broken="model",
        level="should",  # a server with only one model may accept any name
    ),
    RefusedRequest(
        name="bad-tool-schema",
        title="A tool whose parameters have an unknown type",
        statuses=INVALID,
        broken="tool",
        level="should",  # not every provider checks schemas
    ),
    RefusedRequest(
        name="bad-tool-type",
        title="A tool of an unknown type",
        statuses=INVALID,
        broken="tool-type",
        level="should",
        possible=lambda probing: probing.tool_types,
    ),
    RefusedRequest(name="wrong-key", title="A wrong key", statuses=frozenset({401, 403}), broken="key"),
)
"""`wrong-key` is sent only if a key is configured: a server without keys accepts any key."""
