"""The mutants that read openai-responses."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import ARGUMENTS, COMPLETE, ERROR, MONEY, Mutant

OPENAI_RESPONSES: Final = (
    Mutant(
        "current-call-joined",
        "Sends the arguments of parallel calls to the call that began last.",
        ("microsoft/agent-framework#8337", "vellum-ai/vellum-assistant#25848"),
        (ARGUMENTS, "**:content.*.tool_call.arguments_text", *COMPLETE),
    ),
    Mutant(
        "done-arguments-doubled",
        "Appends the arguments of `done` to those of the deltas.",
        ("lidge-jun/opencodex#4652", "anomalyco/opencode#44862"),
        (ARGUMENTS, "**:content.*.tool_call.arguments_text", *COMPLETE),
    ),
    Mutant(
        "done-arguments-lost",
        "Reads arguments from their deltas alone, which not every server sends.",
        ("anomalyco/opencode#44862", "badlogic/pi-mono#917"),
        (ARGUMENTS, "**:content.*.tool_call.arguments_text", *COMPLETE),
    ),
    Mutant(
        "encrypted-content-of-start",
        "Keeps the `encrypted_content` of the start of reasoning, which the api does not take back.",
        (
            "langchain-ai/langchainjs#10845",
            "microsoft/agent-framework-go#683",
            "microsoft/agent-framework#4690",
        ),
        ("**:content.*.thinking.signature",),
    ),
    Mutant(
        "failed-as-stop",
        "Takes `response.failed` for the end of a complete answer.",
        ("BerriAI/litellm#32475", "lsdefine/GenericAgent#753"),
        ERROR,
    ),
    Mutant(
        "final-output-ignored",
        "Reads no content from the finished response, though some servers send nothing else.",
        ("NVIDIA-NeMo/Switchyard#777",),
        ("**:content.**", "**:stop.reason"),
    ),
    Mutant(
        "flat-error-ignored",
        "Knows the nested form of the event `error` only, and takes the flat one for a good end.",
        ("openai/openai-dotnet#881", "vercel/ai#20179", "can1357/oh-my-pi#2570"),
        ERROR,
    ),
    Mutant(
        "hosted-tool-as-client",
        "Asks the client to run a tool that OpenAI has run itself.",
        ("vercel/ai#8502",),
        ("**:content.*.tool_call.executor", "**:stop.reason"),
    ),
    Mutant(
        "incomplete-as-stop",
        "Takes `response.incomplete` for a good end, and loses its reason and usage.",
        ("pydantic/pydantic-ai#7911", "langchain-ai/langchain#33840", "BerriAI/litellm#37710"),
        ("**:stop.**", *MONEY, *COMPLETE),
    ),
    Mutant(
        "item-id-correlated",
        "Matches events by `item_id`, which GitHub Copilot changes with every event.",
        ("vercel/ai#18548", "BerriAI/litellm#19125", "CommandCodeAI/command-code#738"),
        ("**:content.**",),
    ),
    Mutant(
        "reasoning-billed-twice",
        "Adds the reasoning tokens to the output tokens, which include them.",
        ("pydantic/pydantic-ai#2918",),
        ("**:usage.output", "**:cost.output", "**:cost.total"),
    ),
    Mutant(
        "summary-parts-glued",
        "Joins the parts of a reasoning summary with nothing between them.",
        ("vercel/ai#6742", "zendev-sh/goai#125", "crmne/ruby_llm#865"),
        ("**:content.*.thinking.text",),
    ),
)
