"""What does not fit a schema, in plain words: where, what stands there, what is to stand there."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.schemas import find_problems

SHOWN: Final = 80
"""Characters of a value that a message shows."""
ALIASES: Final[Mapping[str, str]] = {
    "completed": "complete",
    "done": "complete",
    "finished": "complete",
    "ok": "complete",
    "success": "complete",
    "cut": "incomplete",
    "truncated": "incomplete",
    "failed": "error",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "pause_turn": "pause",
    "tool": "tool_call",
    "tool_use": "tool_call",
    "function": "tool_call",
    "reasoning": "thinking",
    "output_text": "text",
    "tool_call_start": "toolcall_start",
    "tool_call_delta": "toolcall_delta",
    "tool_call_end": "toolcall_end",
    "finish": "done",
    "end": "done",
}
"""What providers and libraries say, and what the normal form says."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do about a value of a kind at a place."""

    where: str
    """A regular expression on the path."""
    fits: Callable[[Any], bool]
    words: str


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


HINTS: Final = (
    Hint(r"usage\.\w+$", lambda value: isinstance(value, str), "write the number without quotes"),
    Hint(r"usage\.\w+$", lambda value: isinstance(value, float), "tokens are whole numbers"),
    Hint(r"cost\.\w+$", _number, 'write decimal text, such as "0.002871": a float cannot hold money'),
    Hint(r"cost$", _number, 'write an object of decimal texts, {"total": "0.002871"}'),
    Hint(r"stop$", lambda value: isinstance(value, str), 'write an object, {"reason": "…", "raw": "…"}'),
    Hint(r"content$", lambda value: isinstance(value, str), 'write blocks, [{"type": "text", "text": "…"}]'),
    Hint(r"(\.|^)error$", lambda value: isinstance(value, str), 'write an object, {"message": "…"}'),
    Hint(
        r"^\(whole\)$",
        lambda value: value is None,
        "return the outcome; a function without `return` gives None",
    ),
    Hint(r"delta$", lambda value: value is None, 'leave the event out, or send ""'),
)


def misfits(schema: str, value: Any, root: str, definition: str | None = None) -> tuple[str, ...]:
    """Return each misfit of `value`, called `root`, as `root.path: what is there; what is to be done`."""
    return tuple(_told(problem, value, root) for problem in find_problems(schema, value, definition))


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the name among `known` that `word` was to be, None where nothing is near."""
    plain = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in known}
    near = difflib.get_close_matches(re.sub(r"[^a-z0-9]", "", word.lower()), plain, n=1, cutoff=0.5)
    return plain[near[0]] if near else None


def shown(value: Any) -> str:
    """Return `value` as JSON, cut."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def place(root: str, path: str) -> str:
    """Return `content.0.type` of `outcome` as `outcome.content[0].type`."""
    steps = [] if path == "(whole)" else path.split(".")
    return root + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps)


def _told(problem: str, value: Any, root: str) -> str:
    path, _, message = problem.partition(": ")
    there = _at(value, path)
    what = re.match(r"`(?P<got>.*?)` is not (?P<one_of>one of )?(?P<wanted>.*)$", message, re.DOTALL)
    if what:
        kinds = re.sub(r"\ba (?=integer|object|array)", "an ", what["wanted"].removesuffix("; quote it"))
        wanted = f"expected {'one of ' if what['one_of'] else ''}{kinds}"
        told = f"{place(root, path)} is {shown(there)}; {wanted}"
    else:
        told = f"{place(root, path)}: {message}"
    hint = next((each.words for each in HINTS if re.search(each.where, path) and each.fits(there)), None)
    alias = ALIASES.get(there) if isinstance(there, str) else None
    if alias and f"`{alias}`" in message:
        hint = f"write `{alias}`"
    return f"{told}; {hint}" if hint else told


def _at(value: Any, path: str) -> Any:
    for step in [] if path == "(whole)" else path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return value
