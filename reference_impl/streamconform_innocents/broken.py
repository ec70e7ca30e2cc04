"""Innocents that report broken and failed streams in each allowed way."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any, Final

from . import grants
from .model import Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import get_content, iter_groups, must_not_run, replace_content, set_status

innocents = Registry()

EITHER: Final = (
    grants.BROKEN_STREAM,
    grants.BROKEN_STREAM_RULE,
    grants.BROKEN_STREAM_DECIDED,
)
CLAUDE: Final = ("anthropic-messages", "bedrock-invoke")


def raised(message: str) -> Json:
    """Return an exception of the library."""
    return {"type": "client.StreamError", "message": message, "where": "client/stream.py:61 in read"}


def is_cut(facts: TrialFacts, answer: Answer) -> bool:
    """Return whether the stream was cut, reset or stalled, and no error of the provider came first."""
    outcome = answer["outcome"]
    if outcome["status"] == "error" and facts.fault not in (None, "error-frame"):
        return (outcome["error"] or {}).get("type") == "protocol"
    return bool(outcome["status"] == "incomplete")


@innocents.register("cuts-as-errors", *EITHER)
def _report_error(facts: TrialFacts, answer: Answer) -> None:
    """Reports a stream that was cut as `error`."""
    if is_cut(facts, answer):
        error = {"type": "protocol", "message": "the stream ended early", "status": None}
        set_status(answer, "error", error)


@innocents.register("cuts-as-incomplete", *EITHER, apis=("bedrock-converse", "bedrock-invoke"))
def _report_incomplete(facts: TrialFacts, answer: Answer) -> None:
    """Reports a stream that was cut as `incomplete`, even if bytes are broken."""
    if is_cut(facts, answer):
        set_status(answer, "incomplete")


@innocents.register("raises-on-cuts", *EITHER, grants.RAISED, grants.LOST_CONTENT, may_warn=True)
def _raise(facts: TrialFacts, answer: Answer) -> None:
    """Raises if a stream was cut, without the content so far."""
    if is_cut(facts, answer):
        answer.clear()
        answer["raised"] = raised("the stream ended early")


@innocents.register("raises-on-cuts-and-keeps-content", *EITHER, grants.RAISED_WITH_CONTENT)
def _raise_with_content(facts: TrialFacts, answer: Answer) -> None:
    """Raises if a stream was cut, with the content so far and without events."""
    if is_cut(facts, answer):
        keep_beside_exception(answer, "the stream ended early")


def keep_beside_exception(answer: Answer, message: str) -> None:
    """Return the content beside an exception; as the example in docs/adapters.md does, without events."""
    outcome = answer["outcome"]
    stop: Json = {"reason": "error"}
    kept = {"status": "error", "content": outcome["content"], "stop": stop}
    # The usage that arrived before an exception is known too.
    kept |= {key: outcome[key] for key in ("usage", "cost", "model", "response_id")}
    answer.clear()
    answer |= {"outcome": kept, "raised": raised(message)}


def _get_message(answer: Answer) -> str | None:
    outcome = answer["outcome"]
    if outcome["status"] != "error" or not outcome["error"]:
        return None
    message: str | None = outcome["error"]["message"]
    return message


@innocents.register(
    "raises-on-errors", grants.RAISED, grants.RAISED_MESSAGE, grants.LOST_CONTENT, may_warn=True
)
def _raise_error(facts: TrialFacts, answer: Answer) -> None:
    """Raises if the provider reports an error; the message contains the provider's message."""
    del facts
    message = _get_message(answer)
    if message is not None:
        answer.clear()
        answer["raised"] = raised(f"Error code 400: {message} (see the documentation)")


@innocents.register("raises-on-errors-and-keeps-content", grants.RAISED_WITH_CONTENT, grants.RAISED_MESSAGE)
def _raise_error_with_content(facts: TrialFacts, answer: Answer) -> None:
    """Raises if the provider reports an error, with the content so far."""
    del facts
    message = _get_message(answer)
    if message is not None:
        keep_beside_exception(answer, f"Error code 400: {message} (see the documentation)")


@innocents.register(
    "raises-where-errors-pass",
    grants.RAISING_IS_SAFE,
    grants.FAILED_STATUS,
    may_warn=True,
)
def _raise_where_allowed(facts: TrialFacts, answer: Answer) -> None:
    """Raises wherever the case allows the status `error`."""
    if "error" in facts.statuses:
        message = _get_message(answer) or "the stream is broken"
        answer.clear()
        answer["raised"] = raised(message)


@innocents.register("content-lost-after-a-cut", grants.LOST_CONTENT, may_warn=True)
def _lose_content(facts: TrialFacts, answer: Answer) -> None:
    """Drops all content if the stream was cut."""
    if is_cut(facts, answer):
        replace_content(answer, [])


@innocents.register("content-lost-after-an-error", grants.LOST_CONTENT, may_warn=True)
def _lose_content_after_error(facts: TrialFacts, answer: Answer) -> None:
    """Drops all content if the provider reports an error."""
    del facts
    if answer["outcome"]["status"] == "error":
        replace_content(answer, [])


@innocents.register("last-block-lost-after-a-cut", grants.LOST_CONTENT, may_warn=True)
def _lose_last_block(facts: TrialFacts, answer: Answer) -> None:
    """Drops the last block if the stream was cut, because it did not end."""
    if is_cut(facts, answer):
        replace_content(answer, get_content(answer)[:-1])


@innocents.register("half-a-text-lost-after-a-cut", grants.LOST_CONTENT, may_warn=True)
def _lose_half_a_text(facts: TrialFacts, answer: Answer) -> None:
    """Drops the second half of the last text if the stream was cut."""
    content = deepcopy(get_content(answer))
    last = content[-1] if content else None
    if is_cut(facts, answer) and last is not None and last["type"] == "text" and last["text"]:
        last["text"] = last["text"][: len(last["text"]) // 2]
        last["citations"] = []
        replace_content(answer, content)


_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}
"""Anthropic's stop reasons."""


@innocents.register(
    "complete-without-message-stop",
    grants.NO_END_MARKER,
    grants.NO_MESSAGE_STOP,
    apis=("anthropic-messages",),
    may_warn=True,
)
def _accept_missing_stop(facts: TrialFacts, answer: Answer) -> None:
    """Reports `complete` if only `message_stop` is missing."""
    outcome = answer["outcome"]
    if facts.api != "anthropic-messages" or outcome["status"] != "incomplete":
        return
    raw = _find_stop_reason(facts.body)
    if raw in _REASONS and not any(map(must_not_run, outcome["content"])):
        outcome["stop"] |= {"reason": _REASONS[raw], "raw": raw}
        set_status(answer, "complete")


def _find_stop_reason(body: bytes) -> str | None:
    """Return the stop reason of a `message_delta` that arrived completely."""
    for frame in re.split(rb"(?:\r\n|\n|\r){2,}", body):
        data = re.findall(rb"^data: ?(.*?)\r?$", frame, re.MULTILINE)
        try:
            payload = json.loads(b"\n".join(data))
        except ValueError:
            continue
        if isinstance(payload, dict) and payload.get("type") == "message_delta" and payload.get("usage"):
            reason: str | None = payload["delta"].get("stop_reason")
            return reason
    return None


def _lacks_done(facts: TrialFacts, outcome: dict[str, Any]) -> bool:
    return facts.stream and outcome["status"] == "complete" and b"[DONE]" not in facts.body


@innocents.register("incomplete-without-done", grants.NO_DONE, apis=("openai-chat",), may_warn=True)
def _require_done(facts: TrialFacts, answer: Answer) -> None:
    """Reports `incomplete` if `[DONE]` is missing."""
    if facts.api == "openai-chat" and _lacks_done(facts, answer["outcome"]):
        set_status(answer, "incomplete")


@innocents.register("error-without-done", grants.NO_DONE, apis=("openai-chat",), may_warn=True)
def _fail_without_done(facts: TrialFacts, answer: Answer) -> None:
    """Reports an error if `[DONE]` is missing."""
    if facts.api == "openai-chat" and _lacks_done(facts, answer["outcome"]):
        set_status(answer, "error", {"type": "protocol", "message": "no [DONE]", "status": None})


@innocents.register("refusals-as-content-filter", grants.PAUSE_AS_ERROR, apis=CLAUDE, may_warn=True)
def _report_filter(facts: TrialFacts, answer: Answer) -> None:
    """Reports the stop reason `content_filter` in place of Anthropic's refusal."""
    if facts.api in CLAUDE:
        for stop in iter_groups(answer, "stop"):
            if stop["reason"] == "refusal":
                stop["reason"] = "content_filter"


@innocents.register("pauses-and-refusals-as-errors", grants.PAUSE_AS_ERROR, apis=CLAUDE, may_warn=True)
def _report_pause_as_error(facts: TrialFacts, answer: Answer) -> None:
    """Reports an error in place of Anthropic's pause or refusal."""
    _fail_for(facts, answer, ("pause", "refusal"))


@innocents.register(
    "unknown-reasons-as-errors", grants.UNKNOWN_REASON, apis=("anthropic-messages",), may_warn=True
)
def _report_unknown_as_error(facts: TrialFacts, answer: Answer) -> None:
    """Reports an error in place of a stop reason of Anthropic that it does not know."""
    _fail_for(facts, answer, ("other",))


def _fail_for(facts: TrialFacts, answer: Answer, reasons: tuple[str, ...]) -> None:
    outcome = answer["outcome"]
    # A gateway's reason, or a compaction, is not among those that the policy names.
    named = outcome["stop"]["raw"] != "compaction"
    if (
        facts.api in CLAUDE
        and outcome["status"] == "complete"
        and named
        and outcome["stop"]["reason"] in reasons
    ):
        outcome["stop"]["reason"] = "error"
        set_status(answer, "error", {"type": None, "message": "no answer", "status": None})


@innocents.register(
    "raises-on-malformed-arguments", grants.RAISED_ARGUMENTS, apis=("anthropic-messages",), may_warn=True
)
def _raise_on_malformed(facts: TrialFacts, answer: Answer) -> None:
    """Raises if the arguments of a call are not valid JSON, and keeps the content so far."""
    outcome = answer["outcome"]
    malformed = [
        block for block in outcome["content"] if block["type"] == "tool_call" and block["arguments"] is None
    ]
    # A limit cuts a call without a mistake of the model, and its answer has more to lose.
    is_limited = outcome["stop"]["reason"] in ("length", "content_filter")
    is_whole = outcome["status"] == "complete" and not is_limited
    if facts.api == "anthropic-messages" and is_whole and malformed:
        keep_beside_exception(answer, "the arguments are not valid JSON")
