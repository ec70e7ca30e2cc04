"""Innocents that do not claim one capability, and whose answers lack its values."""

from __future__ import annotations

from typing import Final

from . import grants
from .model import Answer, Json, TrialFacts
from .not_exposed import GOOGLE
from .registry import Registry
from .rewrite import (
    get_content,
    iter_blocks,
    iter_events,
    iter_groups,
    map_blocks,
    replace_content,
    set_group,
)

innocents = Registry()

_HAS_PROVIDER_TOOLS: Final = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    "openai-responses",
)


def _is_call(block: Json, executor: str) -> bool:
    return (block["type"], block.get("executor")) == ("tool_call", executor)


@innocents.register(
    "without-tool-calls",
    grants.TOOL_CALLS,
    without=("tool_calls", "parallel_tool_calls"),
)
def _drop_client_calls(facts: TrialFacts, answer: Answer) -> None:
    """Does not report calls to client tools."""
    del facts
    replace_content(answer, [block for block in get_content(answer) if not _is_call(block, "client")])


@innocents.register("tool-calls-misread", grants.ONLY_CLAIMED, without=("tool_calls", "parallel_tool_calls"))
def _misread_calls(facts: TrialFacts, answer: Answer) -> None:
    """Does not claim client calls, and reports them with other names and without ids."""
    del facts

    def change(block: Json) -> list[Json]:
        if _is_call(block, "client"):
            block |= {"name": "other", "id": None, "arguments": {}, "arguments_text": None}
        return [block]

    map_blocks(answer, change)


@innocents.register(
    "without-parallel-tool-calls",
    grants.PARALLEL_CALLS,
    without=("parallel_tool_calls",),
    apis=(),
)
def _keep_one_call(facts: TrialFacts, answer: Answer) -> None:
    """Cannot read parallel calls; its answers to the other cases are unchanged."""
    del facts, answer


@innocents.register(
    "without-provider-tools",
    grants.PROVIDER_TOOLS,
    without=("provider_tools",),
    apis=_HAS_PROVIDER_TOOLS,
)
def _drop_provider_calls(facts: TrialFacts, answer: Answer) -> None:
    """Does not report calls to tools that the provider runs."""
    del facts
    replace_content(answer, [block for block in get_content(answer) if not _is_call(block, "provider")])


@innocents.register(
    "provider-calls-as-other",
    grants.PROVIDER_TOOLS,
    grants.REMOVED,
    without=("provider_tools",),
    apis=_HAS_PROVIDER_TOOLS,
)
def _show_provider_calls_as_other(facts: TrialFacts, answer: Answer) -> None:
    """Reports the provider's calls as `other` blocks."""
    del facts

    def change(block: Json) -> list[Json]:
        return (
            [{"type": "other", "kind": "hosted", "data": block}] if _is_call(block, "provider") else [block]
        )

    map_blocks(answer, change)


@innocents.register(
    "without-thinking",
    grants.THINKING,
    without=("thinking",),
)
def _drop_thinking(facts: TrialFacts, answer: Answer) -> None:
    """Does not report thinking."""
    del facts
    replace_content(answer, [block for block in get_content(answer) if block["type"] != "thinking"])


@innocents.register(
    "without-signatures",
    grants.THINKING,
    without=("signatures",),
    apis=(
        "anthropic-messages",
        "bedrock-converse",
        "bedrock-invoke",
        "openai-responses",
        "openai-chat",
        *GOOGLE,
    ),
)
def _drop_signatures(facts: TrialFacts, answer: Answer) -> None:
    """Reports null in place of each signature."""
    del facts
    for block in iter_blocks(answer, "text", "thinking", "tool_call"):
        if "signature" in block:
            block["signature"] = None


@innocents.register(
    "without-thinking-and-signatures",
    grants.THINKING,
    without=("thinking", "signatures"),
)
def _drop_thinking_and_signatures(facts: TrialFacts, answer: Answer) -> None:
    """Reports neither thinking nor signatures."""
    _drop_thinking(facts, answer)
    _drop_signatures(facts, answer)


@innocents.register(
    "without-refusals",
    grants.REFUSALS,
    without=("refusals",),
    apis=("openai-chat", "openai-responses"),
)
def _drop_refusals(facts: TrialFacts, answer: Answer) -> None:
    """Does not report refusals."""
    del facts
    replace_content(answer, [block for block in get_content(answer) if block["type"] != "refusal"])


@innocents.register(
    "without-usage",
    grants.USAGE,
    without=("usage", "cache_usage", "usage_details", "cost"),
)
def _drop_usage(facts: TrialFacts, answer: Answer) -> None:
    """Reports neither usage nor cost."""
    del facts
    outcome = answer["outcome"]
    del outcome["usage"], outcome["cost"]
    if "events" in answer:
        answer["events"] = [event for event in iter_events(answer) if event["type"] != "usage"]
        answer.pop("taken", None)


@innocents.register(
    "usage-misread",
    grants.ONLY_CLAIMED,
    without=("usage", "cache_usage", "usage_details", "cost"),
)
def _misread_usage(facts: TrialFacts, answer: Answer) -> None:
    """Does not claim usage, and reports 1 for each count."""
    del facts
    for usage in iter_groups(answer, "usage"):
        usage.update(dict.fromkeys(usage, 1))


@innocents.register("without-cost", grants.USAGE, without=("cost",))
def _drop_cost(facts: TrialFacts, answer: Answer) -> None:
    """Does not report costs."""
    del facts
    del answer["outcome"]["cost"]
    for event in iter_events(answer):
        event.pop("cost", None)


@innocents.register(
    "one-count-for-the-prompt",
    grants.CACHE_USAGE,
    grants.ONE_COUNT,
    grants.ONE_COUNT_DECIDED,
    without=("cache_usage",),
)
def _sum_cache(facts: TrialFacts, answer: Answer) -> None:
    """Reports one count for the whole prompt."""
    del facts
    for usage in iter_groups(answer, "usage"):
        parts = [usage.pop(key) or 0 for key in ("cache_read", "cache_write")]
        if usage["input"] is not None:
            usage["input"] += sum(parts)


@innocents.register(
    "without-usage-details",
    grants.USAGE_DETAILS,
    without=("usage_details",),
)
def _drop_usage_details(facts: TrialFacts, answer: Answer) -> None:
    """Reports null for reasoning, one-hour cache writes and web searches."""
    del facts
    for usage in iter_groups(answer, "usage"):
        usage.update(dict.fromkeys(("reasoning", "cache_write_1h", "web_searches")))
        # Zero, so that each answer changes.
        usage["reasoning"] = 0


@innocents.register(
    "raw-stop-translated",
    grants.RAW_STOP,
    without=("raw_stop",),
)
def _translate_raw_stop(facts: TrialFacts, answer: Answer) -> None:
    """Translates the provider's stop reason."""
    del facts
    for stop in iter_groups(answer, "stop"):
        stop["raw"] = f"translated-{stop['reason']}"


@innocents.register(
    "without-errors",
    grants.ERRORS,
    without=("errors",),
)
def _drop_errors(facts: TrialFacts, answer: Answer) -> None:
    """Reports no error details."""
    del facts
    set_group(answer, "error", None)


@innocents.register("errors-misread", grants.ONLY_CLAIMED, without=("errors",))
def _misread_errors(facts: TrialFacts, answer: Answer) -> None:
    """Does not claim errors, and reports another type, message and status."""
    del facts
    for error in iter_groups(answer, "error"):
        error |= {"type": "failure", "message": "failed", "status": 599}


@innocents.register("without-events", grants.EVENTS, without=("events",))
def _drop_events(facts: TrialFacts, answer: Answer) -> None:
    """Emits no events."""
    del facts
    answer.pop("events", None)
    answer.pop("taken", None)


@innocents.register(
    "without-documents",
    grants.DOCUMENTS,
    without=("documents",),
    apis=(),
)
def _read_streams_only(facts: TrialFacts, answer: Answer) -> None:
    """Reads only streams; its answers to them are unchanged."""
    del facts, answer


@innocents.register(
    "claims-nothing",
    grants.ALWAYS_COMPARED,
    without=(
        "tool_calls",
        "parallel_tool_calls",
        "provider_tools",
        "thinking",
        "signatures",
        "refusals",
        "usage",
        "cache_usage",
        "usage_details",
        "cost",
        "errors",
        "raw_stop",
        "events",
    ),
)
def _report_text_only(facts: TrialFacts, answer: Answer) -> None:
    """Reports only the status, the stop reason, the text and `other` blocks."""
    _drop_events(facts, answer)
    outcome = answer["outcome"]
    outcome["content"] = [
        {"type": "text", "text": block["text"]} if block["type"] == "text" else block
        for block in outcome["content"]
        if block["type"] in ("text", "other")
    ]
    answer["outcome"] = {
        "status": outcome["status"],
        "content": outcome["content"],
        "stop": {"reason": outcome["stop"]["reason"]},
    }
