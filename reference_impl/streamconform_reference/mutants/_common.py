"""Mutants of the functions that belong to no api: healed arguments, values of cut JSON, counted tokens."""

from __future__ import annotations

from typing import Final

from ._mutant import Mutant

_HEAL: Final = ("common/heal/**:output",)
_PARTIAL: Final = ("common/partial/**:output",)
_TOKENS: Final = ("common/tokens/**:output",)

COMMON: Final = (
    Mutant(
        "valid-json-unescaped",
        "Escaped quotes are unescaped before anybody looks whether the text is JSON as it is.",
        ("NousResearch/atropos#478",),
        _HEAL,
    ),
    Mutant(
        "only-quotes-unescaped",
        "Of text that was escaped too often only the quotes are unescaped, no other escape.",
        ("liveloveapp/hashbrown#60", "openclaw/openclaw#88918"),
        _HEAL,
    ),
    Mutant(
        "cut-arguments-healed",
        "Arguments that were cut are closed with what is missing, and pass for whole.",
        ("earendil-works/pi#6284", "langchain-ai/langchainjs#11471"),
        _HEAL,
    ),
    Mutant(
        "non-object-arguments-passed",
        "Whatever the text is in JSON passes for arguments: an array, a number, a text.",
        ("omnigent-ai/omnigent#2587",),
        _HEAL,
    ),
    Mutant(
        "malformed-arguments-emptied",
        "Text that is no JSON becomes an empty object, and the tool runs with nothing.",
        ("brightwave-inc/tidebreak#1129",),
        _HEAL,
    ),
    Mutant(
        "half-character-shown",
        "The first half of a surrogate pair is shown before the second half has come.",
        ("ggml-org/llama.cpp#16465",),
        _PARTIAL,
    ),
    Mutant(
        "cut-escape-loses-text",
        "A text that ends in half an escape disappears until the escape is whole.",
        ("pydantic/jiter#207", "langchain-ai/langchain#29065", "assistant-ui/assistant-ui#6355"),
        _PARTIAL,
    ),
    Mutant(
        "missing-value-as-null",
        "A key whose value has not come has the value null.",
        ("1000ship/incomplete-json-parser#5", "netplex/json-smart-v2#297"),
        _PARTIAL,
    ),
    Mutant(
        "cut-text-as-null",
        "A text that has not ended is null.",
        ("run-llama/llama_index#20541",),
        _PARTIAL,
    ),
    Mutant(
        "only-whole-json-shown",
        "Every prefix is parsed anew as whole JSON, and what does not parse has no value.",
        ("assistant-ui/assistant-ui#5524",),
        _PARTIAL,
    ),
    Mutant(
        "words-as-tokens",
        "Counts every word as one token, however long it is.",
        ("raine/claude-code-proxy#90",),
        _TOKENS,
    ),
    Mutant(
        "system-not-counted",
        "Does not count the system prompt.",
        ("router-for-me/CLIProxyAPI#679",),
        _TOKENS,
    ),
)
