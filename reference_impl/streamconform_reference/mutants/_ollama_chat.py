"""The mutants that read ollama-chat."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import ARGUMENTS, COMPLETE, ERROR, GIVES_UP, MONEY, Mutant

OLLAMA_CHAT: Final = (
    Mutant(
        "calls-of-last-record-dropped",
        "Reads reason and counts of the last record only, so calls on it are lost.",
        ("QuantumNous/new-api#7252",),
        ("**:content.**", "**:stop", "**:stop.reason"),
    ),
    Mutant(
        "calls-of-one-index-joined",
        "Keeps calls by their index, which is the same for all of them in some versions.",
        ("ollama/ollama#15457", "vercel/ai#14277", "NousResearch/hermes-agent#3468"),
        ("**:content.**",),
    ),
    Mutant(
        "done-hides-calls",
        "Takes `stop` at its word, so the tool calls before it are never run.",
        ("BerriAI/litellm#35663", "BerriAI/litellm#20585"),
        ("**:stop", "**:stop.reason"),
    ),
    Mutant(
        "error-record-ignored",
        "Skips a record that has an error and no message.",
        ("pepperoni21/ollama-rs#357", "ollama/ollama#11781"),
        (*ERROR, *MONEY, "**:content.**"),
    ),
    Mutant(
        "last-record-lost",
        "Throws a last record without its line end away.",
        ("langchain-ai/langchainjs#3241",),
        GIVES_UP,
    ),
    Mutant(
        "missing-count-fatal",
        "Gives up at a last record without `prompt_eval_count`.",
        ("ollama/ollama#2068", "ollama/ollama#3427", "SWE-agent/SWE-agent#44"),
        (*ERROR, *MONEY),
    ),
    Mutant(
        "record-parsed-by-read",
        "Takes each network read for whole lines, so a record cut in two is broken.",
        ("0xPlaygrounds/rig#1758", "continuedev/continue#751"),
        GIVES_UP,
    ),
    Mutant(
        "text-arguments-kept",
        "Hands arguments on as text that come as text.",
        ("ollama/ollama#12413",),
        (ARGUMENTS, f"{ARGUMENTS}_text", *COMPLETE),
    ),
    Mutant(
        "thinking-unread",
        "Does not read `message.thinking`.",
        ("openclaw/openclaw#34765", "Tencent/WeKnora#689", "langgenius/dify-official-plugins#2117"),
        ("**:content.**", "**:invariant.**"),
    ),
)
