"""Mutants of the functions that belong to no API: argument healing, partial JSON and token counts."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Final

from streamconform_reference.adapter import assemble
from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.json_text import codec
from streamconform_reference.json_text.incremental import partial_value
from streamconform_reference.outcome import Json
from streamconform_reference.tokens import CHARACTERS_PER_TOKEN, count_tokens

from .json_values import close_json
from .registry import FunctionMutants

mutants = FunctionMutants()

_HEAL: Final = ("common/heal/**:output",)
_PARTIAL: Final = ("common/partial/**:output",)
_ASSEMBLE: Final = ("common/assemble/**:output",)
_TOKENS: Final = ("common/tokens/**:output",)


# Argument healing


@mutants.function("heal", kind="arguments-unhealed", fails=_HEAL)
def backslashes_removed(value: Any) -> Json:
    """Removes every backslash before it reads the text."""
    return heal_tool_arguments(value.replace("\\", "") if isinstance(value, str) else value)


@mutants.function("heal", kind="arguments-unhealed", fails=_HEAL)
def valid_json_unescaped(value: Any) -> Json:
    """Unescapes quotes before checking whether the text is already valid JSON."""
    return heal_tool_arguments(value.replace('\\"', '"') if isinstance(value, str) else value)


@mutants.function(
    "heal",
    kind="arguments-unhealed",
    fails=_HEAL,
)
def only_quotes_unescaped(value: Any) -> Json:
    """Unescapes only the quotes in doubly escaped text, and no other escapes."""
    if not isinstance(value, str) or codec.is_json(value.encode()) or not value.strip():
        return heal_tool_arguments(value)
    try:
        parsed = codec.loads_text(value.replace('\\"', '"'))
    except codec.NotJsonError:
        return {"raw": value}
    return parsed if isinstance(parsed, dict) else {"raw": value}


@mutants.function(
    "heal",
    kind="unfinished-call-runs",
    fails=_HEAL,
)
def cut_arguments_healed(value: Any) -> Json:
    """Closes truncated arguments and passes them on as complete."""
    healed = heal_tool_arguments(value)
    if not isinstance(value, str) or set(healed) != {"raw"}:
        return healed
    closed = heal_tool_arguments(close_json(value))
    return healed if set(closed) == {"raw"} else closed


@mutants.function("heal", kind="unfinished-call-runs", fails=_HEAL)
def non_object_arguments_passed(value: Any) -> Any:
    """Passes on any JSON value as arguments: an array, a number, a string."""
    try:
        parsed = codec.loads_text(value) if isinstance(value, str) else None
    except codec.NotJsonError:
        parsed = None
    return heal_tool_arguments(value) if parsed is None else parsed


@mutants.function("heal", kind="unfinished-call-runs", fails=_HEAL)
def malformed_arguments_emptied(value: Any) -> Json:
    """Replaces text that is not JSON with an empty object, so the tool runs without arguments."""
    healed = heal_tool_arguments(value)
    return {} if healed == {"raw": value} and isinstance(value, str) else healed


@mutants.function("heal", kind="arguments-unhealed", fails=_HEAL)
def text_unparsed(value: Any) -> Json:
    """Takes arguments that come as text for text, whatever it contains."""
    return {"raw": value} if isinstance(value, str) else heal_tool_arguments(value)


# Partial JSON

_HIGH_SURROGATE_AT_END: Final = re.compile(r"(\\u[dD][89abAB][0-9a-fA-F]{2})(\\|\\u[0-9a-fA-F]{0,3})?\Z")
_CUT_ESCAPE_AT_END: Final = re.compile(r'"(?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*\\(?:u[0-9a-fA-F]{0,3})?\Z')
_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_OPEN_VALUE_AT_END: Final = re.compile(r'(:\s*)"(?:[^"\\]|\\.)*\\?\Z', re.DOTALL)


@mutants.function("partial", kind="partial-value-wrong", fails=_PARTIAL)
def half_character_shown(text: str) -> Any:
    """Shows the first half of a surrogate pair before the second half arrives."""
    # After the space the parser does not wait for the second half.
    return partial_value(_HIGH_SURROGATE_AT_END.sub(r"\1 ", text))


@mutants.function(
    "partial",
    kind="partial-value-wrong",
    fails=_PARTIAL,
)
def cut_escape_loses_text(text: str) -> Any:
    """Drops a string that ends in an incomplete escape until the escape is complete."""
    return partial_value(_CUT_ESCAPE_AT_END.sub("", text))


@mutants.function(
    "partial",
    kind="partial-value-wrong",
    fails=_PARTIAL,
)
def missing_value_as_null(text: str) -> Any:
    """Reports null for a key whose value has not arrived."""
    stripped = text.rstrip()
    return partial_value(f"{stripped} null" if stripped.endswith(":") else text)


@mutants.function("partial", kind="partial-value-wrong", fails=_PARTIAL)
def cut_text_as_null(text: str) -> Any:
    """Reports null for a string that has not ended."""
    return partial_value(_OPEN_VALUE_AT_END.sub(r"\1null", text))


@mutants.function("partial", kind="partial-value-wrong", fails=_PARTIAL)
def only_whole_json_shown(text: str) -> Any:
    """Parses each prefix as a complete document and reports an empty object until that succeeds."""
    try:
        return codec.loads_text(text)
    except codec.NotJsonError:
        return {}


@mutants.function("partial", kind="partial-value-wrong", fails=_PARTIAL)
def halves_of_pairs_apart(text: str) -> Any:
    """Decodes the two escapes of a surrogate pair one by one."""
    return partial_value(_PAIR.sub(r"\\ufffd\\ufffd", text))


@mutants.function("partial", kind="partial-value-wrong", fails=_PARTIAL)
def empty_member_added(text: str) -> Any:
    """Adds a member with an empty name when an object has just begun, or after a comma."""
    value = partial_value(text)
    return {**value, "": None} if isinstance(value, dict) and text.rstrip().endswith(("{", ",")) else value


# Assembly of tool calls


@mutants.function("assemble", kind="fragment-to-another-call", fails=_ASSEMBLE)
def newest_call_gets_fragments(value: Any) -> Any:
    """Appends each Chat Completions fragment to the call that started last, whatever its index."""
    changed = deepcopy(value)
    newest = 0
    for entry in changed["payloads"]:
        for choice in entry["payload"].get("choices", ()):
            for part in choice["delta"].get("tool_calls", ()):
                newest = part["index"] if "id" in part else newest
                part["index"] = newest
    return assemble(None, changed)


@mutants.function("assemble", kind="calls-merged", fails=_ASSEMBLE)
def answers_share_indexes(value: Any) -> Any:
    """Keeps the calls of all answers in one table, keyed by index."""
    entries = [{"api": entry["api"], "payload": entry["payload"]} for entry in value["payloads"]]
    return assemble(None, {"payloads": entries})


@mutants.function("assemble", kind="calls-merged", fails=_ASSEMBLE)
def assembled_by_name(value: Any) -> Any:
    """Keeps one call per function name."""
    return [*{call["name"]: call for call in assemble(None, value)}.values()]


@mutants.function("assemble", kind="unfinished-call-runs", fails=_ASSEMBLE)
def open_calls_handed_out(value: Any) -> Any:
    """Reports an empty object as the arguments of calls that have not ended."""
    return [
        call if call["arguments"] is not None else {**call, "arguments": {}} for call in assemble(None, value)
    ]


# Token counts


@mutants.function("count_tokens", kind="tokens-miscounted", fails=_TOKENS)
def words_as_tokens(request: Any) -> int:
    """Counts every word as one token, however long it is."""
    return count_tokens(_shorten_words(request))


def _shorten_words(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(word[:CHARACTERS_PER_TOKEN] for word in value.split())
    if isinstance(value, list):
        return [_shorten_words(item) for item in value]
    if isinstance(value, dict):
        return {key: item if key == "type" else _shorten_words(item) for key, item in value.items()}
    return value


@mutants.function("count_tokens", kind="tokens-miscounted", fails=_TOKENS)
def system_not_counted(request: Any) -> int:
    """Does not count the system prompt."""
    return count_tokens({key: value for key, value in request.items() if key != "system"})
