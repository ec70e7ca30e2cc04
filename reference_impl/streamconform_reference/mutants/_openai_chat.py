"""The mutants that read openai-chat."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import ARGUMENTS, COMPLETE, GIVES_UP, MONEY, STATUS, Mutant

OPENAI_CHAT: Final = (
    Mutant(
        "cached-subset-not-subtracted",
        "Counts all of the prompt as input, though the cache's part of it is counted apart.",
        ("BerriAI/litellm#6215", "continuedev/continue#13104", "Aider-AI/aider#5516"),
        ("**:usage.input", "**:cost.input", "**:cost.total"),
    ),
    Mutant(
        "chunk-without-choice-fatal",
        "Gives up at a chunk without a choice, or at a choice without a delta.",
        ("aaif-goose/goose#10935", "aaif-goose/goose#8641", "deepset-ai/haystack#8507"),
        GIVES_UP,
    ),
    Mutant(
        "cumulative-usage-summed",
        "Adds up usage that comes cumulatively with every chunk.",
        ("open-webui/open-webui#29064", "pydantic/pydantic-ai#4056", "vllm-project/vllm#9357"),
        MONEY,
    ),
    Mutant(
        "done-mark-as-success",
        "Takes `[DONE]` for the end of a complete answer, though no `finish_reason` came.",
        ("GCWing/OpenBitFun#2038", "brightwave-inc/tidebreak#1124"),
        (*STATUS, *COMPLETE, ARGUMENTS),
    ),
    Mutant(
        "missing-index-lost",
        "Drops the fragments of tool calls that have no index.",
        ("AstrBotDevs/AstrBot#6692", "sgl-project/sglang#5661"),
        ("**:content.**", "**:stop.reason"),
    ),
    Mutant(
        "null-usage-erases",
        "Forgets the usage when a later chunk says null.",
        ("openai/openai-agents-python#2122", "openai/openai-agents-js#1474", "coder/coder#28068"),
        MONEY,
    ),
    Mutant(
        "object-arguments-dropped",
        "Drops arguments that come as an object, and not as its text.",
        ("can1357/oh-my-pi#1779", "google/adk-go#1254"),
        (ARGUMENTS,),
    ),
    Mutant(
        "reasoning-added-to-output",
        "Adds the reasoning tokens to the completion, which includes them already.",
        ("browser-use/browser-use#4065", "earendil-works/pi#2709", "hugalafutro/model-hotel#991"),
        ("**:usage.output", "**:cost.output", "**:cost.total"),
    ),
    Mutant(
        "reasoning-doubled",
        "Takes reasoning twice that comes under two names.",
        ("aaif-goose/goose#8715", "can1357/oh-my-pi#2434"),
        ("**:content.*.thinking.text",),
    ),
    Mutant(
        "repeated-id-joined",
        "Joins an id to itself that comes with every fragment.",
        ("run-llama/llama_index#21693", "langchain4j/langchain4j#4544"),
        ("**:content.**", "**:invariant.streaming"),
    ),
    Mutant(
        "repeated-name-joined",
        "Joins a name to itself that comes with every fragment.",
        ("NousResearch/hermes-agent#8259", "NousResearch/hermes-agent#11984", "bytedance/deer-flow#654"),
        ("**:content.*.tool_call.name", "**:invariant.streaming"),
    ),
    Mutant(
        "reused-index-merged",
        "Joins parallel calls that share one index, though their ids differ.",
        ("langchain-ai/langchain#35281", "huggingface/smolagents#1958", "ai-dynamo/dynamo#4723"),
        ("**:content.**",),
    ),
    Mutant(
        "stop-hides-calls",
        "Takes `stop` at its word, so the tool calls before it are never run.",
        ("sgl-project/sglang#2877", "vercel/workflow#1387", "strands-agents/harness-sdk#3206"),
        ("**:stop", "**:stop.reason"),
    ),
)
