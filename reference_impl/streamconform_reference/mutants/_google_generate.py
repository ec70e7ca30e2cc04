"""The mutants that read google-generate."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import ARGUMENTS, ERROR, GIVES_UP, Mutant

GOOGLE_GENERATE: Final = (
    Mutant(
        "array-parsed-by-read",
        "Takes each network read of an array for one element.",
        ("symfony/ai#1988", "nyo16/nous#26", "elastic/kibana#217990"),
        GIVES_UP,
    ),
    Mutant(
        "bare-error-ignored",
        "Does not see an error that comes as bare JSON behind the events.",
        ("Helicone/helicone#3976", "jeremychone/rust-genai#63"),
        ERROR,
    ),
    Mutant(
        "calls-of-one-name-joined",
        "Keeps calls by name, so parallel calls of one name are one.",
        ("NousResearch/hermes-agent#101536", "omnigent-ai/omnigent#28"),
        ("**:content.**",),
    ),
    Mutant(
        "content-without-parts-fatal",
        "Gives up at a candidate that has a reason to end and no parts.",
        ("musistudio/llms#21", "pydantic/pydantic-ai#2631", "brainlid/langchain#365"),
        GIVES_UP,
    ),
    Mutant(
        "failed-call-as-stop",
        "Takes a reason that names a failure for the normal end.",
        ("agentjido/req_llm#944", "mcowger/plexus#748"),
        (*ERROR, "**:content.**"),
    ),
    Mutant(
        "finish-hides-calls",
        "Takes `STOP` at its word, so the function calls before it are never run.",
        ("router-for-me/CLIProxyAPI#876", "su-kaka/gcli2api#407"),
        ("**:stop", "**:stop.reason"),
    ),
    Mutant(
        "first-part-only",
        "Reads the first part of each chunk only.",
        ("openlit/openlit#1401", "omnigent-ai/omnigent#28"),
        ("**:content.**", "**:stop", "**:stop.reason", "**:invariant.streaming"),
    ),
    Mutant(
        "first-reason-ends",
        "Ends with the first `finishReason`, whatever comes behind it.",
        ("Chevey339/kelivo#1003", "router-for-me/CLIProxyAPI#5640"),
        GIVES_UP,
    ),
    Mutant(
        "partial-null-dropped",
        "Drops a null among arguments that come value by value.",
        ("BerriAI/litellm#23815", "mpfaffenberger/code_puppy#293"),
        (ARGUMENTS,),
    ),
    Mutant(
        "signed-text-as-thinking",
        "Takes text with a signature for thinking, so it is never shown.",
        ("aaif-goose/goose#7204",),
        ("**:content.**",),
    ),
    Mutant(
        "text-signature-lost",
        "Drops a signature that comes with text, often with empty text.",
        ("vercel/ai#12402", "earendil-works/pi#7356", "anomalyco/opencode#43984"),
        ("**:content.**",),
    ),
    Mutant(
        "thoughts-not-counted",
        "Leaves the thoughts out of the output, though they are billed as such.",
        ("crewAIInc/crewAI#5699", "computesdk/benchmarks#372", "simstudioai/sim#3039"),
        ("**:usage.output", "**:cost.output", "**:cost.total"),
    ),
)
