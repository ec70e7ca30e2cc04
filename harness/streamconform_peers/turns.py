"""What the caller adds to a conversation after each answer: the results of its calls, and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from streamconform.normal.blocks import get

Result = Mapping[str, Any]
"""The result of a tool call: `{name, content, error?}`."""
Call = TypeVar("Call")


def list_turns(run: Any) -> Sequence[Mapping[str, Any]]:
    """Return what the caller adds after each answer, in order: `{results}`, `{messages}` or both."""
    turns = get(run, "turns")
    return turns if turns is not None else [{"results": run.results}] if run.results is not None else []


def join_outcomes(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the last outcome; if there are several, together with the first one."""
    last = dict(outcomes[-1])
    return last if len(outcomes) < 2 else {"first": outcomes[0], "outcome": last}


def match_results(
    results: Sequence[Result], calls: Sequence[Call], get_name: Callable[[Call], str]
) -> Iterator[tuple[Call, Result]]:
    """Yield each result with its call: the first unanswered one with the same name; others are dropped."""
    left = list(calls)
    for result in results:
        for call in [call for call in left if get_name(call) == result["name"]][:1]:
            left.remove(call)
            yield call, result


@dataclass(slots=True)
class Stretch:
    """Turns in which a library that runs tools itself needs nothing else from its caller."""

    rounds: int = 0
    """The number of answers whose calls have results."""
    results: list[Result] = field(default_factory=list)
    """The results that were not taken yet."""
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    """What the caller sends when the library returns; empty at the end of the conversation."""
    ends_with_results: bool = False
    """Whether the messages are sent together with the last results, before the model answers those."""

    def take(self, name: str) -> Result | None:
        """Return the first result of the tool `name` that was not taken, or None if there is none left."""
        for result in [result for result in self.results if result["name"] == name][:1]:
            self.results.remove(result)
            return result
        return None

    def ends_after(self, rounds: int) -> bool:
        """Return whether the library must stop when it has run the tools of `rounds` answers."""
        return rounds >= self.rounds + (not self.ends_with_results)


def split_turns(turns: Sequence[Mapping[str, Any]]) -> list[Stretch]:
    """Return the stretches of a conversation; all but the last one end with messages."""
    stretches = [Stretch()]
    for turn in turns:
        results, messages = turn.get("results") or (), turn.get("messages") or ()
        stretch = stretches[-1]
        stretch.rounds += bool(results) or not messages  # without either, a paused answer goes on
        stretch.results += results
        if messages:
            stretch.messages, stretch.ends_with_results = list(messages), bool(results)
            stretches.append(Stretch())
    return stretches
