"""The mutants that ask with wrong tools, limits and settings."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import Mutant

_TOOLS: Final = ("**:body.tools", "**:body.tools.**", "**:body.toolConfig", "**:body.toolConfig.**")
_LIMITS: Final = ("**:body.max_tokens", "**:body.max_completion_tokens")
_BUDGETS: Final = ("**:body.thinking.**", "**:body.additionalModelRequestFields.**")
_MESSAGES: Final = ("**:body.messages.**",)

ASKED: Final = (
    Mutant(
        "schemas-emptied",
        "Sends every tool with a schema that has no properties.",
        ("anthropics/claude-code#34974", "CodebuffAI/freebuff#912"),
        _TOOLS,
    ),
    Mutant(
        "no-properties-sent",
        "Sends a schema without properties for a tool that takes nothing.",
        ("spring-projects/spring-ai#4776", "ollama/ollama#10328", "karakeep-app/karakeep#1696"),
        _TOOLS,
    ),
    Mutant(
        "tool-choice-lost",
        "Does not send the choice of a tool.",
        ("diegosouzapw/OmniRoute#8211", "mozilla-ai/any-llm#648", "vectorize-io/hindsight#4470"),
        ("**:body.tool_choice", "**:body.tool_choice.**", *_TOOLS),
    ),
    Mutant(
        "choice-without-tools",
        "Sends a choice of tools where there are none.",
        ("dphnAI/sonar#1143", "openai/swarm#30"),
        ("**:body.tool_choice", "**:body.tool_choice.**"),
    ),
    Mutant(
        "choice-in-lower-case",
        "Sends the choice of a tool in the words of another api.",
        ("langchain-ai/langchain-cohere#161",),
        ("**:body.tool_choice",),
    ),
    Mutant(
        "empty-tools-sent",
        "Sends an empty list of tools where there are none.",
        ("JetBrains/koog#786", "partITech/php-mistral#76"),
        ("**:body.tools",),
    ),
    Mutant(
        "declarations-dropped",
        "Declares no tools where none may be called, though calls went before.",
        ("vxcontrol/pentagi#196", "patriceckhart/zot#18"),
        _TOOLS,
    ),
    Mutant(
        "limit-unsent",
        "Sends no limit where nobody asked for one, though the api has no default.",
        ("brianpetro/obsidian-smart-connections#554",),
        ("**:body.max_tokens",),
    ),
    Mutant(
        "limit-outside-options",
        "Sends the limit beside the options, where the server does not look.",
        ("acon96/home-llm#40", "langchain-ai/langchain#16633"),
        ("**:body.max_tokens", "**:body.options", "**:body.options.**"),
    ),
    Mutant(
        "older-limit-sent",
        "Sends the limit by its older name, which models that think refuse.",
        ("anomalyco/opencode#37964", "teilomillet/gollm#33"),
        _LIMITS,
    ),
    Mutant(
        "newer-limit-sent",
        "Sends the limit by its newer name to hosts that know the older only.",
        ("editor-code-assistant/eca#231", "belingud/gptcomet#79"),
        _LIMITS,
    ),
    Mutant(
        "temperature-beside-thinking",
        "Sends a temperature to a model that thinks.",
        ("danny-avila/LibreChat#11949", "theopenco/llmgateway#1726", "danny-avila/LibreChat#10737"),
        ("**:body.temperature", "**:body.inferenceConfig.**"),
    ),
    Mutant(
        "budget-above-limit",
        "Sends a budget of thinking that is above the limit of the answer.",
        ("sigoden/aichat#1304", "sudoprivacy/sudocode#438", "BerriAI/litellm#9001"),
        _BUDGETS,
    ),
    Mutant(
        "budget-too-small",
        "Sends a budget of thinking that is below the least.",
        ("themaximalist/llm.js#30",),
        _BUDGETS,
    ),
    Mutant(
        "level-beside-budget",
        "Sends a level of thinking beside a budget.",
        ("Tom-Ryder/AgentRunKit#7", "juspay/neurolink#1707"),
        ("**:body.generationConfig.thinkingConfig.**",),
    ),
    Mutant(
        "think-always",
        "Tells every model to think.",
        ("agentscope-ai/agentscope#1099",),
        ("**:body.think",),
    ),
    Mutant(
        "level-as-truth",
        "Tells a model that takes levels whether to think, and not how hard.",
        ("ollama/ollama#11751",),
        ("**:body.think",),
    ),
    Mutant(
        "stored-everywhere",
        "Sends `store` to hosts that refuse it.",
        ("openclaw/openclaw#51058", "Gitlawb/openclaude#739", "openclaw/openclaw#43086"),
        ("**:body.store",),
    ),
    Mutant(
        "stored-by-default",
        "Does not say that answers are not to be stored.",
        ("earendil-works/pi#1308", "Gitlawb/openclaude#578", "can1357/oh-my-pi#11530"),
        ("**:body.store",),
    ),
    Mutant(
        "cache-key-unsent",
        "Does not send the session as the key of the cache.",
        ("earendil-works/pi#698", "Dicklesworthstone/pi_agent_rust#188"),
        ("**:body.prompt_cache_key",),
    ),
    Mutant(
        "cache-key-uncut",
        "Sends the name of a session as the key of the cache, however long it is.",
        ("earendil-works/pi#4719", "vybestack/llxprt-code#2135"),
        ("**:body.prompt_cache_key",),
    ),
    Mutant(
        "retention-everywhere",
        "Asks every host to keep the cache for a day, whether that is wanted or not.",
        ("unslothai/unsloth#5450",),
        ("**:body.prompt_cache_retention",),
    ),
    Mutant(
        "cache-unmarked",
        "Does not say up to where a prompt is to be cached.",
        ("karthink/gptel#1436", "cline/cline#12928"),
        ("**:body.system.**", *_MESSAGES),
    ),
    Mutant(
        "usage-unasked",
        "Does not ask for the usage of a stream.",
        ("zai-org/feedback#93",),
        ("**:body.stream_options", "**:body.stream_options.**"),
    ),
    Mutant(
        "stream-options-always",
        "Sends options of a stream where there is none.",
        ("BerriAI/litellm#5803", "aliasrobotics/cai#77"),
        ("**:body.stream_options", "**:body.stream_options.**"),
    ),
    Mutant(
        "image-as-address",
        "Sends images as addresses with a type where the server takes the bare base64.",
        ("BerriAI/litellm#18338", "BerriAI/litellm#2948"),
        _MESSAGES,
    ),
    Mutant(
        "content-as-parts",
        "Sends parts where the server takes text only.",
        ("ollama/ollama#6451",),
        _MESSAGES,
    ),
)
