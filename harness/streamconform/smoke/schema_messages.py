"""Schema errors as messages for adapter authors: path, value, expected value, hint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.schemas import find_problems

MAX_VALUE: Final = 80
"""The maximum number of characters of a value that a message quotes."""
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
"""Values used by providers and libraries, with the corresponding values of the normal form."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Advice on a wrong value at certain paths."""

    path_pattern: str
    """A regular expression to search for in the path."""
    applies: Callable[[Any], bool]
    advice: str


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


HINTS: Final = (
    Hint(r"usage\.\w+$", lambda value: isinstance(value, str), "write the number without quotes"),
    Hint(r"usage\.\w+$", lambda value: isinstance(value, float), "tokens are whole numbers"),
    Hint(r"cost\.\w+$", _is_number, 'write a decimal string, such as "0.002871"; a float is inexact'),
    Hint(r"cost$", _is_number, 'write an object of decimal strings, {"total": "0.002871"}'),
    Hint(r"stop$", lambda value: isinstance(value, str), 'write an object, {"reason": "…", "raw": "…"}'),
    Hint(r"content$", lambda value: isinstance(value, str), 'write blocks, [{"type": "text", "text": "…"}]'),
    Hint(r"(\.|^)error$", lambda value: isinstance(value, str), 'write an object, {"message": "…"}'),
    Hint(
        r"^\(whole\)$",
        lambda value: value is None,
        "return the outcome; a function without `return` gives None",
    ),
    Hint(r"delta$", lambda value: value is None, 'omit the event, or send ""'),
)


def find_mismatches(schema: str, value: Any, root: str, definition: str | None = None) -> tuple[str, ...]:
    """Return one message per schema error of `value`; paths begin with `root`."""
    return tuple(
        _describe_mismatch(problem, value, root) for problem in find_problems(schema, value, definition)
    )


def format_value(value: Any) -> str:
    """Return `value` as JSON, truncated to `MAX_VALUE` characters."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"


def format_path(root: str, path: str) -> str:
    """Return a path with subscripts, such as `outcome.content[0].type` for `outcome` and `content.0.type`."""
    steps = [] if path == "(whole)" else path.split(".")
    return root + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps)


def _describe_mismatch(problem: str, value: Any, root: str) -> str:
    path, _, message = problem.partition(": ")
    wrong_value = _get_at(value, path)
    mismatch = re.match(r"`(?P<got>.*?)` is not (?P<one_of>one of )?(?P<expected>.*)$", message, re.DOTALL)
    if mismatch:
        kinds = re.sub(
            r"\ba (?=integer|object|array)", "an ", mismatch["expected"].removesuffix("; quote it")
        )
        expected = f"expected {'one of ' if mismatch['one_of'] else ''}{kinds}"
        description = f"{format_path(root, path)} is {format_value(wrong_value)}; {expected}"
    else:
        description = f"{format_path(root, path)}: {message}"
    advice = next(
        (hint.advice for hint in HINTS if re.search(hint.path_pattern, path) and hint.applies(wrong_value)),
        None,
    )
    alias = ALIASES.get(wrong_value) if isinstance(wrong_value, str) else None
    # Only if the schema expects the alias here: a word may be an alias in one field and unrelated in another.
    if alias and f"`{alias}`" in message:
        advice = f"write `{alias}`"
    return f"{description}; {advice}" if advice else description


def _get_at(value: Any, path: str) -> Any:
    for step in [] if path == "(whole)" else path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return value
