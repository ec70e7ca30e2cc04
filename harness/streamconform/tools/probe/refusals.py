"""What a server has to refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from streamconform.apis.api import Probing
from streamconform.tools.probe.scenarios import always


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that has to be refused with the api's error document."""

    name: str
    title: str
    statuses: frozenset[int]
    """Those that the providers answer with; another one of 400 to 499 is a warning."""
    broken: Literal["json", "messages", "model", "tool", "tool-type", "key"]
    level: Literal["must", "should"] = "must"
    possible: Callable[[Probing], bool] = always
    """Whether a request of an API can be broken in this way."""


BAD: Final = frozenset({400, 422})
REFUSALS: Final = (
    Refusal(name="bad-json", title="A body that is no JSON", statuses=BAD, broken="json"),
    Refusal(name="no-messages", title="A body without messages", statuses=BAD, broken="messages"),
    Refusal(
        name="unknown-model",
        title="A model that does not exist",
        statuses=frozenset({400, 404}),
        broken="model",
        level="should",  # a server of one model may take any name
    ),
    Refusal(
        name="bad-tool-schema",
        title="A tool whose parameters are of a type that does not exist",
        statuses=BAD,
        broken="tool",
        level="should",  # not every provider looks into them
    ),
    Refusal(
        name="bad-tool-type",
        title="A tool of a type that does not exist",
        statuses=BAD,
        broken="tool-type",
        level="should",
        possible=lambda probing: probing.tool_types,
    ),
    Refusal(name="wrong-key", title="A wrong key", statuses=frozenset({401, 403}), broken="key"),
)
"""The last one is asked only where a key is given: a server without keys takes any."""
