"""The mutants that read cohere-chat."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import ARGUMENTS, ERROR, MONEY, Mutant

COHERE_CHAT: Final = (
    Mutant(
        "argument-fragments-lost",
        "Reads the start and the end of a tool call, and none of its fragments.",
        ("genkit-ai/genkit#4518",),
        ("**:content.**", "**:invariant.streaming"),
    ),
    Mutant(
        "billed-units-ignored",
        "Counts all that the model read and wrote, up to six times what is billed.",
        (
            "open-telemetry/semantic-conventions-genai#13",
            "open-telemetry/semantic-conventions-genai#211",
            "maximhq/bifrost#608",
        ),
        MONEY,
    ),
    Mutant(
        "failed-end-as-stop",
        "Takes the finish reasons ERROR and TIMEOUT for a good end.",
        ("mozilla-ai/any-llm#1301",),
        ERROR,
    ),
    Mutant(
        "final-text-doubled",
        "Appends the text that the end of a v1 stream repeats.",
        ("langchain-ai/langchain-cohere#57", "BerriAI/litellm#39965"),
        ("**:content.**",),
    ),
    Mutant(
        "finish-reason-hardcoded",
        "Says that every answer stopped, so calls are not run and truncation is not seen.",
        ("mozilla-ai/any-llm#1301", "BerriAI/litellm#12862"),
        ("**:stop", "**:stop.reason"),
    ),
    Mutant(
        "no-parameters-as-null",
        "Gives null as the arguments of a call without parameters.",
        ("vercel/ai#4755",),
        (ARGUMENTS, "**:content.*.tool_call.arguments_text"),
    ),
    Mutant(
        "thinking-delta-lost",
        "Reads the text of content deltas alone, so thinking is lost.",
        ("vercel/ai#8239", "deepset-ai/haystack-core-integrations#2266"),
        ("**:content.**", "**:invariant.streaming"),
    ),
    Mutant(
        "v1-calls-ignored",
        "Reads the text of a v1 stream alone, so its tool calls are never run.",
        ("ortus-boxlang/bx-ai#281",),
        ("**:content.**", "**:stop", "**:stop.reason", "**:invariant.streaming"),
    ),
)
