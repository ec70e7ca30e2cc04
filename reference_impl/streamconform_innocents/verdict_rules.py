"""Innocents that use the freedoms of the second version of the rules for verdicts."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from . import grants
from .broken import is_cut, keep_beside_exception, raised
from .content import EMPTY, split_text
from .model import Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import emit_again, get_content, iter_events, iter_groups, map_blocks, replace_content

innocents = Registry()


@innocents.register("calls-in-another-order", grants.BY_ID, may_warn=True)
def _reverse_calls(facts: TrialFacts, answer: Answer) -> None:
    """Reports the calls in reverse order, in the places of the calls."""
    blocks = deepcopy(get_content(answer))
    places = [
        position
        for position, block in enumerate(blocks)
        if block["type"] == "tool_call"
        and block["executor"] == "client"
        # An id that the client made up identifies the call only to the client.
        and str(block["id"]).encode() in facts.body
    ]
    calls = [blocks[position] for position in places]
    for position, call in zip(places, reversed(calls), strict=True):
        blocks[position] = call
    replace_content(answer, blocks)


@innocents.register("without-stop", grants.NO_STOP, grants.STOP, without=("stop", "raw_stop"))
def _drop_stop(facts: TrialFacts, answer: Answer) -> None:
    """Exposes no stop reason."""
    del facts
    del answer["outcome"]["stop"]
    for event in answer.get("events") or ():
        event.pop("stop", None)


@innocents.register(
    "thinking-in-halves",
    grants.SPLIT_THINKING,
    may_warn=True,
)
def _split_thinking(facts: TrialFacts, answer: Answer) -> None:
    """Reports each thought as two blocks, of which only the last is signed."""
    del facts

    def change(block: Json) -> list[Json]:
        if block["type"] != "thinking" or block["redacted"] or len(block["text"]) < 2:
            return [block]
        return split_text(block, len(block["text"]) // 2)

    map_blocks(answer, change)


@innocents.register(
    "extra-provider-call",
    grants.UNNAMED_PROVIDER_CALL,
)
def _add_provider_call(facts: TrialFacts, answer: Answer) -> None:
    """Reports a step of the provider as a call that the provider ran."""
    del facts
    call: Json = {
        "type": "tool_call",
        "id": "extra-provider-call",
        "name": "hosted_step",
        "arguments": {},
        "arguments_text": "{}",
        "complete": True,
        "executor": "provider",
        "signature": None,
    }
    replace_content(answer, [call, *get_content(answer)])


@innocents.register(
    "zeros-before-a-cut",
    grants.COUNT_NEVER_GIVEN,
    may_warn=True,
)
def _count_from_zero(facts: TrialFacts, answer: Answer) -> None:
    """Reports 0 for each count that had not arrived when the stream was cut."""
    if is_cut(facts, answer):
        for holder in (answer["outcome"], *iter_events(answer)):
            if "usage" in holder:
                usage = holder["usage"] or {}
                holder["usage"] = usage | {key: usage.get(key) or 0 for key in ("input", "output")}


@innocents.register("zeros-for-missing-counts", grants.ZERO_FOR_NULL, may_warn=True)
def _fill_with_zeros(facts: TrialFacts, answer: Answer) -> None:
    """Reports 0 for each count that the stream never gave, as a language without null does."""
    if not is_cut(facts, answer):
        for holder in (answer["outcome"], *iter_events(answer)):
            if holder.get("usage"):
                holder["usage"] = {key: count or 0 for key, count in holder["usage"].items()}


@innocents.register(
    "unfinished-calls-beside-an-exception",
    grants.BESIDE_EXCEPTION,
    grants.UNFINISHED_CALL,
    may_warn=True,
)
def _keep_calls(facts: TrialFacts, answer: Answer) -> None:
    """Raises if a stream was cut, and keeps an unfinished call with the arguments so far."""
    if not is_cut(facts, answer):
        return
    for block in get_content(answer):
        if block["type"] == "tool_call" and block["complete"] is False:
            block |= {"complete": True, "arguments": block["arguments"] or {}}
    outcome = answer["outcome"]
    answer.clear()
    answer |= {
        "outcome": {
            "status": "error",
            "content": outcome["content"],
            "stop": {"reason": "error"},
            "usage": outcome["usage"],
        },
        "raised": raised("the stream ended early"),
    }


def _is_client_call(block: Json) -> bool:
    return bool(block["type"] == "tool_call" and block["executor"] == "client")


def _is_limited(answer: Answer) -> bool:
    """Return whether a limit or a filter ended an answer with calls for the client."""
    outcome = answer["outcome"]
    is_ended = outcome["status"] == "complete" and outcome["stop"]["reason"] in ("length", "content_filter")
    return is_ended and any(map(_is_client_call, outcome["content"]))


FILTERING: Final = (
    "openai-chat",
    "openai-responses",
    "google-generate",
    "bedrock-converse",
    "bedrock-invoke",
)
"""The APIs with an ordinary stop reason for a filter."""


@innocents.register(
    "raises-on-blocked-answers", grants.BLOCKED_ANSWER, grants.REFUSABLE, apis=FILTERING, may_warn=True
)
def _raise_if_blocked(facts: TrialFacts, answer: Answer) -> None:
    """Raises, with the content so far, if a filter blocked the prompt or ended the answer."""
    del facts
    outcome = answer["outcome"]
    if (outcome["status"], outcome["stop"]["reason"]) == ("complete", "content_filter"):
        keep_beside_exception(answer, f"blocked: {outcome['stop']['raw']}")


@innocents.register(
    "raises-on-refusals",
    grants.RAISED_REFUSAL,
    grants.REFUSABLE,
    apis=("openai-chat", "openai-responses"),
    may_warn=True,
)
def _raise_on_refusal(facts: TrialFacts, answer: Answer) -> None:
    """Raises if the model refused, with the refusal in the exception's message instead of the content."""
    del facts
    refusals = [block["text"] for block in get_content(answer) if block["type"] == "refusal"]
    if refusals and answer["outcome"]["status"] == "complete":
        answer.clear()
        answer["raised"] = raised("refused: " + "".join(refusals))


@innocents.register("raises-on-limited-calls", grants.RAISED_LIMIT, grants.REFUSABLE, may_warn=True)
def _raise_at_limit(facts: TrialFacts, answer: Answer) -> None:
    """Raises, without the content, if a limit or a filter ended an answer with calls."""
    del facts
    if _is_limited(answer):
        answer.clear()
        answer["raised"] = raised("the answer was truncated in a tool call")


@innocents.register("limited-calls-not-run", grants.LIMITED_CALL, grants.CALL_AT_LIMIT, may_warn=True)
def _mark_limited_calls(facts: TrialFacts, answer: Answer) -> None:
    """Reports every call of an answer that a limit or a filter ended as incomplete."""
    del facts
    if _is_limited(answer):
        for block in filter(_is_client_call, get_content(answer)):
            block["complete"] = False
        emit_again(answer)


def _include_in_input(answer: Answer, hidden: str) -> None:
    for usage in iter_groups(answer, "usage"):
        count = usage.pop(hidden, None)
        if count and usage.get("input") is not None:
            usage["input"] += count


@innocents.register("cache-writes-in-input", grants.HIDDEN_BUCKET, grants.INCLUDED_BUCKET, may_warn=True)
def _include_cache_writes(facts: TrialFacts, answer: Answer) -> None:
    """Exposes cache reads, but counts the tokens written to the cache as input."""
    del facts
    _include_in_input(answer, "cache_write")


@innocents.register("cache-reads-in-input", grants.HIDDEN_BUCKET, grants.INCLUDED_BUCKET, may_warn=True)
def _include_cache_reads(facts: TrialFacts, answer: Answer) -> None:
    """Exposes cache writes, but counts the tokens read from the cache as input."""
    del facts
    _include_in_input(answer, "cache_read")


@innocents.register(
    "call-signatures-as-thinking",
    grants.SIGNATURE_AS_THINKING,
    grants.MOVED_SIGNATURE,
    apis=("google-generate", "openai-chat"),
    may_warn=True,
)
def _report_signatures_as_thinking(facts: TrialFacts, answer: Answer) -> None:
    """Reports the signature of each call as a thinking block without text, before the call."""
    del facts

    def change(block: Json) -> list[Json]:
        if block["type"] != "tool_call" or not block["signature"]:
            return [block]
        signature = block.pop("signature")
        return [EMPTY["thinking"] | {"signature": signature}, block]

    map_blocks(answer, change)
