"""The mutants that read bedrock-converse."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import ARGUMENTS, COMPLETE, ERROR, MONEY, STATUS, Mutant

BEDROCK_CONVERSE: Final = (
    Mutant(
        "block-index-ignored",
        "Joins the input of parallel calls, as if there were one block.",
        ("run-llama/llama_index#18761", "vercel/ai#3071"),
        ("**:content.**", "**:invariant.**"),
    ),
    Mutant(
        "converse-cache-ignored",
        "Forgets the tokens that were read from and written to the cache.",
        ("maximhq/bifrost#4746", "BerriAI/litellm#24845"),
        MONEY,
    ),
    Mutant(
        "damaged-message-as-end",
        "Stops at a message whose checksum is wrong, and says nothing.",
        ("vercel/ai#18994",),
        ERROR,
    ),
    Mutant(
        "exception-dropped",
        "Throws exception messages away, so a failed stream just seems to end.",
        ("vercel/ai#19034", "Mingye-Lu/AgenticCrawler#128", "aaif-goose/goose#9579"),
        ERROR,
    ),
    Mutant(
        "flat-reasoning-lost",
        "Looks for reasoning where it only is without streaming.",
        ("NousResearch/hermes-agent#36260", "anomalyco/opencode#38712", "spring-projects/spring-ai#6859"),
        ("**:content.**", "**:invariant.streaming"),
    ),
    Mutant(
        "metadata-as-end",
        "Takes usage for the end of a complete answer, though `messageStop` never came.",
        ("anomalyco/opencode#46065",),
        (*STATUS, *COMPLETE, ARGUMENTS),
    ),
    Mutant(
        "tool-input-lost",
        "Collects the input of a tool and never attaches it to the call.",
        ("crewAIInc/crewAI#5739", "zendev-sh/goai#5"),
        ("**:content.**", "**:invariant.streaming"),
    ),
    Mutant(
        "usage-behind-stop-lost",
        "Ends at `messageStop`, before the usage that follows it.",
        ("Effect-TS/effect#6272", "infiniflow/ragflow#17775", "lastmile-ai/mcp-agent#634"),
        MONEY,
    ),
)
