"""The mutants that send back what was said, thought, called and found, and get it wrong."""

from __future__ import annotations

from typing import Final

from streamconform_reference.mutants._mutant import Mutant

_MESSAGES: Final = ("**:body.messages.**",)
_CONTENTS: Final = ("**:body.contents", "**:body.contents.**")
_INPUT: Final = ("**:body.input.**",)

SAID: Final = (
    Mutant(
        "sent-signature-lost",
        "Sends thinking back without its signature.",
        ("RooCodeInc/Roo-Code#10351", "NousResearch/hermes-agent#36260", "earendil-works/pi#8314"),
        _MESSAGES,
    ),
    Mutant(
        "sent-redacted-lost",
        "Sends redacted thinking back to nobody.",
        ("BerriAI/litellm#9058", "anomalyco/opencode#38712", "spring-projects/spring-ai#6859"),
        _MESSAGES,
    ),
    Mutant(
        "thoughts-sent-first",
        "Sends all thinking of an answer back before its text and its calls.",
        ("BerriAI/litellm#23137", "NousResearch/hermes-agent#43943", "stacklok/mecatl#1465"),
        _MESSAGES,
    ),
    Mutant(
        "foreign-thinking-sent",
        "Sends thinking to a model that did not write it.",
        ("vybestack/llxprt-code#2335", "openclaw/openclaw#107221", "decolua/9router#4136"),
        (*_MESSAGES, *_CONTENTS, *_INPUT),
    ),
    Mutant(
        "wrong-part-signed",
        "Sends the signature of a call back on a part of its own.",
        ("vercel/ai#12402", "anomalyco/opencode#43984", "BerriAI/litellm#17474"),
        _CONTENTS,
    ),
    Mutant(
        "null-signature-sent",
        "Sends a signature of null with every part that nothing signs.",
        ("allenhutchison/obsidian-gemini#230",),
        _CONTENTS,
    ),
    Mutant(
        "reasoning-lost",
        "Sends no reasoning item back, so that calls stand without theirs.",
        ("vercel/ai#7099", "pydantic/pydantic-ai#2861", "0xPlaygrounds/rig#751"),
        _INPUT,
    ),
    Mutant(
        "reasoning-alone",
        "Sends reasoning back whose next item is not sent.",
        ("continuedev/continue#8933", "vercel/ai#8379"),
        _INPUT,
    ),
    Mutant(
        "encrypted-unasked",
        "Does not ask for the encrypted content of reasoning, so none can be sent back.",
        ("vercel/ai#7543",),
        ("**:body.include", "**:body.include.**"),
    ),
    Mutant(
        "answer-as-input",
        "Sends the text of an answer back as text of an input.",
        ("jeremychone/rust-genai#119", "BerriAI/litellm#17507"),
        _INPUT,
    ),
    Mutant(
        "deepseek-thinking-unsent",
        "Does not send thinking back to a host that wants it at every call.",
        ("camel-ai/camel#4028", "anomalyco/opencode#24722"),
        _MESSAGES,
    ),
    Mutant(
        "thinking-to-any-host",
        "Sends thinking back to hosts that do not know the field.",
        ("charmbracelet/crush#1590",),
        _MESSAGES,
    ),
    Mutant(
        "empty-text-sent",
        "Sends an empty text before the calls of an answer.",
        ("anthropics/anthropic-sdk-python#461", "OpenHands/OpenHands#5339"),
        _MESSAGES,
    ),
    Mutant(
        "empty-answer-sent",
        "Sends an answer back in which there was nothing.",
        ("GoogleCloudPlatform/kubectl-ai#351",),
        _CONTENTS,
    ),
    Mutant(
        "results-apart",
        "Sends each result of parallel calls in a message of its own, where they have to share one.",
        ("crewAIInc/crewAI#4749", "cloudwego/eino-ext#571", "docker/docker-agent#2959"),
        (*_MESSAGES, *_CONTENTS),
    ),
    Mutant(
        "failure-untold",
        "Tells no model that a tool failed.",
        ("JetBrains/koog#1700", "langchain4j/langchain4j#4481", "maximhq/bifrost#5450"),
        (*_MESSAGES, *_CONTENTS),
    ),
    Mutant(
        "result-image-lost",
        "Drops the images of results.",
        ("BerriAI/litellm#6953", "run-llama/llama_index#21677", "OpenHands/OpenHands#7700"),
        (*_MESSAGES, *_INPUT),
    ),
    Mutant(
        "result-printed",
        "Prints results that are JSON as its language prints values.",
        ("langchain-ai/langchain#32884", "microsoft/autogen#7867"),
        (*_MESSAGES, *_CONTENTS, *_INPUT),
    ),
    Mutant(
        "results-as-tool-calls",
        "Sends results as `tool_calls` of the user, and not as messages of role `tool`.",
        ("0xPlaygrounds/rig#450",),
        ("**:invariant.unique-ids", *_MESSAGES),
    ),
    Mutant(
        "missing-result-left-out",
        "Sends a call without any result, where the user went on without one.",
        ("OpenHands/OpenHands#7512", "agno-agi/agno#4345", "vybestack/llxprt-code#194"),
        (*_MESSAGES, *_CONTENTS),
    ),
    Mutant(
        "foreign-id-sent",
        "Sends ids of calls as they came from another provider, whatever the host takes.",
        ("maximhq/bifrost#5096", "openclaw/openclaw#875", "decolua/9router#393"),
        (*_MESSAGES, *_INPUT),
    ),
    Mutant(
        "call-alone-respelled",
        "Respells the id of a call, and in its result leaves it as it was.",
        ("RooCodeInc/Roo-Code#11131",),
        _MESSAGES,
    ),
    Mutant(
        "repeated-id-sent",
        "Sends two calls of one id, as the model wrote them in two turns.",
        ("NousResearch/hermes-agent#72766", "open-webui/open-webui#28305"),
        ("**:invariant.unique-ids", *_MESSAGES),
    ),
    Mutant(
        "input-as-text",
        "Sends arguments as text where the api takes an object.",
        ("neuron-core/neuron-ai#219", "IBM/AssetOpsBench#478", "aliasrobotics/cai#76"),
        _MESSAGES,
    ),
    Mutant(
        "empty-arguments-sent",
        "Sends the empty text for arguments of which there are none.",
        ("vllm-project/vllm#19419", "vercel/ai#4755", "mark3labs/mcphost#50"),
        (*_MESSAGES, *_INPUT),
    ),
    Mutant(
        "empty-tool-calls-sent",
        "Sends an empty list of calls with an answer that had none.",
        ("openai/openai-node#1341", "chatboxai/chatbox#2079"),
        _MESSAGES,
    ),
    Mutant(
        "user-split",
        "Sends messages of the user in a row, which have to be one.",
        ("Portkey-AI/gateway#748", "langchain-ai/langchain-aws#130"),
        _MESSAGES,
    ),
)
