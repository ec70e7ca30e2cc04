"""Mutants of both of Google's APIs and of Ollama, which have the same bugs in other forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_reference.apis.google_generate.calls import FunctionCalls
from streamconform_reference.apis.google_generate.decode import METADATA, PARTS
from streamconform_reference.apis.google_interactions.steps import Steps
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json

from .every_api import SomeApis
from .json_values import drop_key, object_at
from .model import ARGUMENTS, BOTH, COMPLETE, CONTENT, ERROR, GIVES_UP, STATUS, STOP_REASON, USAGE

_GOOGLE: Final = ("google-generate", "google-interactions")
_ALL: Final = (*_GOOGLE, "ollama-chat")
_PART: Final = {"text", "thought", "thoughtSignature", "videoMetadata", *PARTS}
_STEPS: Final = {"user_input", "model_output", "thought", "function_call", "text"}
_RECORD: Final = {
    *("model", "created_at", "message", "done", "done_reason", "error"),
    *("total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration"),
    *("prompt_eval_cached_count", "eval_count", "eval_duration"),
}


mutants = SomeApis()


def _candidates(payload: Payload) -> list[Payload]:
    return [candidate for candidate in payload.get("candidates") or () if isinstance(candidate, dict)]


def _calls(payload: Payload) -> list[Payload]:
    return [object_at(part, "functionCall") for part in _parts(payload)]


def _parts(payload: Payload) -> list[Payload]:
    return [
        part
        for candidate in _candidates(payload)
        for part in object_at(candidate, "content").get("parts") or ()
        if isinstance(part, dict)
    ]


def _steps(payload: Payload) -> list[Payload]:
    """Return the steps in an event or an interaction."""
    listed = object_at(payload, "interaction").get("steps") or ()
    return [step for step in (payload.get("step"), *listed) if isinstance(step, dict)]


# Bytes


# Forms of values


@mutants.payloads(*_ALL, kind="unknown-fatal", paths=BOTH, fails=GIVES_UP)
def unknown_form_fatal(payload: Payload) -> Payload:
    """Fails on a kind of part, a type of step or a member of a record that it does not know."""
    if (
        any(not part.keys() <= _PART for part in _parts(payload))
        or any(
            step.get("type") not in _STEPS and not str(step.get("type")).endswith(("_call", "_result"))
            for step in _steps(payload)
        )
        or ("done" in payload and not payload.keys() <= _RECORD)
    ):
        raise BrokenPayloadError("unknown part, step or member")
    return payload


@mutants.payloads("google-interactions", kind="absent-fatal", paths=BOTH, fails=GIVES_UP)
def optional_members_required(payload: Payload) -> Payload:
    """Fails if an update has no id, or a listed step no content."""
    if payload.get("event_type") == "interaction.status_update" and "interaction_id" not in payload:
        raise BrokenPayloadError("no `interaction_id`")
    for step in object_at(payload, "interaction").get("steps") or ():
        if step.get("type") == "model_output" and "content" not in step:
            raise BrokenPayloadError("no `content`")
    return payload


@mutants.payloads(
    "google-generate",
    kind="absent-fatal",
    paths=BOTH,
    fails=GIVES_UP,
)
def content_without_parts_fatal(payload: Payload) -> Payload:
    """Fails on a candidate that has a finish reason but no parts."""
    for candidate in _candidates(payload):
        if not object_at(candidate, "content").get("parts"):
            raise BrokenPayloadError("no `content.parts`")
    return payload


@mutants.payloads(
    "ollama-chat",
    kind="absent-fatal",
    paths=BOTH,
    fails=(*ERROR, *USAGE, *CONTENT, "**:invariant.**"),
)
def missing_count_fatal(payload: Payload) -> Payload:
    """Fails if the last record lacks one of the counts."""
    if payload.get("done") and not {"prompt_eval_count", "eval_count"} <= payload.keys():
        raise BrokenPayloadError("no `prompt_eval_count` or no `eval_count`")
    return payload


@mutants.decoder("google-generate", kind="old-form-unread", fails=GIVES_UP)
class OnlyEventsRead:
    """Reads a stream only as events, and not as the array that comes without `alt=sse`."""

    framing_factory: type[Framing] = SseFraming


@mutants.payloads("google-generate", kind="old-form-unread", paths=BOTH, fails=(*STATUS, *ERROR))
def only_names_of_reasons_read(payload: Payload) -> Payload:
    """Reads a finish reason only as a name, and not as a number."""
    for candidate in _candidates(payload):
        if not isinstance(candidate.get("finishReason"), str):
            candidate.pop("finishReason", None)
    return payload


@mutants.payloads(
    "google-interactions",
    kind="old-form-unread",
    paths=("document",),
    fails=(*CONTENT, *ERROR),
)
def outputs_unread(payload: Payload) -> Payload:
    """Reads `steps`, but not the `outputs` of the first schema."""
    changed: Payload = drop_key(payload, "outputs")
    return changed


@mutants.payloads("ollama-chat", kind="old-form-unread", paths=BOTH, fails=GIVES_UP)
def done_reason_required(payload: Payload) -> Payload:
    """Takes a record for the last one only if it has `done_reason`, which older servers do not send."""
    return payload if payload.get("done_reason") else {**payload, "done": False}


# The end


@mutants.outcome(*_ALL, kind="stop-guessed", paths=BOTH, fails=(*STOP_REASON, *STATUS))
def empty_answer_as_blocked(outcome: Json) -> None:
    """Takes every answer without content for one that a filter stopped."""
    if outcome["status"] == "complete" and not any(
        block["type"] != "thinking" for block in outcome["content"]
    ):
        outcome["stop"]["reason"] = "content_filter"


@mutants.decoder("google-interactions", kind="end-too-early", fails=(*GIVES_UP, "**:continuation"))
class FirstStepEnds:
    """Ends the answer with its first step."""

    message: Any

    def read(self, payload: Payload) -> None:
        super().read(payload)  # type: ignore[misc]
        if payload.get("event_type") == "step.stop":
            self.message.complete()


@mutants.payloads("ollama-chat", kind="end-too-early", fails=GIVES_UP)
def reason_ends_the_stream(payload: Payload) -> Payload:
    """Ends the answer at the first `done_reason`, whether or not the record says that it is done."""
    return {**payload, "done": True} if payload.get("done_reason") else payload


# Calls


@mutants.payloads(*_ALL, kind="identity-trusted", fails=GIVES_UP)
def ids_required(payload: Payload) -> Payload:
    """Fails on a candidate without an index, an update without an id, and a call without an id."""
    message = object_at(payload, "message")
    if (
        any("index" not in candidate for candidate in _candidates(payload))
        or any(not call.get("id") for call in message.get("tool_calls") or ())
        or any(not call.get("id") and "name" in call for call in _calls(payload))
        or (payload.get("event_type") == "interaction.status_update" and "interaction_id" not in payload)
    ):
        raise BrokenPayloadError("no id or index")
    return payload


@mutants.decoder(*_ALL, kind="identity-trusted", fails=(*CONTENT, "**:invariant.**"))
class CallOfAKnownIdLost:
    """Keeps calls by id, so the second of two calls with one id is lost."""

    def begin(self) -> None:
        self.known: set[object] = set()
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        message = object_at(payload, "message")
        if message.get("tool_calls"):
            calls = [call for call in message["tool_calls"] if self._is_new(call.get("id"))]
            payload = {**payload, "message": {**message, "tool_calls": calls}}
        for part in _parts(payload):
            if "functionCall" in part and not self._is_new(object_at(part, "functionCall").get("id")):
                del part["functionCall"]
        if self._is_new(object_at(payload, "step").get("id")):
            super().read(payload)  # type: ignore[misc]

    def _is_new(self, identity: object) -> bool:
        known = identity in self.known
        self.known |= {identity} - {None, ""}
        return not known


@mutants.decoder("google-interactions", kind="order-trusted", fails=GIVES_UP)
class StopOfAnEndedStepFatal:
    """Fails on the end of a step that has ended, or that never began."""

    def begin(self) -> None:
        self.open: set[object] = set()
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        index = payload.get("index")
        if payload.get("event_type") == "step.stop" and index not in self.open:
            raise BrokenPayloadError("no such step")
        if payload.get("event_type") == "step.start":
            self.open.add(index)
        elif payload.get("event_type") == "step.stop":
            self.open.discard(index)
        super().read(payload)  # type: ignore[misc]


@mutants.decoder(*_ALL, kind="identity-joined", fails=("**:model", "**:response_id"))
class AnswerNamesJoined:
    """Joins the model and the id of the answer, which several payloads repeat."""

    message: Any
    models = ids = ""

    def read(self, payload: Payload) -> None:
        self.message.model = self.message.response_id = None
        super().read(payload)  # type: ignore[misc]
        self.models += self.message.model or ""
        self.ids += self.message.response_id or ""
        self.message.model, self.message.response_id = self.models or None, self.ids or None


class _CallsWithBoth(FunctionCalls):
    def close(self) -> None:
        if self.open is not None and self._partial.has_values:
            self.message.add_arguments(self.open, codec.dumps(self._partial.value()).decode())
            self.message.add_arguments(self.open, codec.dumps(self._partial.value()).decode())
            self._partial = type(self._partial)()
        super().close()


@mutants.decoder("google-generate", kind="arguments-doubled", fails=(*ARGUMENTS, *CONTENT, *COMPLETE))
class PiecesAndTheWhole:
    """Joins the pieces of streamed arguments, and adds the whole arguments at the end."""

    calls_factory = _CallsWithBoth


class _StartAndFragments(Steps):
    def start(self, index: int | None, data: Payload) -> None:
        super().start(index, data)
        if str(data.get("type")).endswith("_call") and data.get("arguments") and self._last is not None:
            self.message.add_arguments(self._last, codec.dumps(data["arguments"]).decode())


@mutants.decoder("google-interactions", kind="arguments-doubled", fails=(*ARGUMENTS, *CONTENT, *COMPLETE))
class StartAndFragmentsJoined:
    """Joins the arguments in the start of a call with the fragments that follow."""

    steps_factory = _StartAndFragments


@mutants.payloads("google-generate", kind="arguments-changed", paths=BOTH, fails=ARGUMENTS)
def null_arguments_dropped(payload: Payload) -> Payload:
    """Drops null and empty values among the arguments of a call."""
    for part in _parts(payload):
        call = object_at(part, "functionCall")
        if isinstance(call.get("args"), dict):
            call["args"] = _drop_nothings(call["args"])
    return payload


def _drop_nothings(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _drop_nothings(item) for name, item in value.items() if item not in (None, {}, [])}
    return [_drop_nothings(item) for item in value] if isinstance(value, list) else value


# Content


@mutants.payloads(
    "google-generate", "ollama-chat", kind="final-content-unread", fails=(*CONTENT, *STOP_REASON)
)
def last_content_unread(payload: Payload) -> Payload:
    """Reads only the reason and the counts of the last chunk or record."""
    if payload.get("done"):
        return {**payload, "message": {}}
    for candidate in _candidates(payload):
        if candidate.get("finishReason"):
            candidate.pop("content", None)
    return payload


@mutants.decoder("google-generate", "ollama-chat", kind="thoughts-split", fails=(*CONTENT, "**:invariant.**"))
class ThoughtPerPiece:
    """Makes a block of each piece of a thought."""

    prose: Any

    def read(self, payload: Payload) -> None:
        if object_at(payload, "message").get("thinking") or any(
            part.get("thought") for part in _parts(payload)
        ):
            self.prose.end()
        super().read(payload)  # type: ignore[misc]


class _SplitThoughts(Steps):
    def add(self, index: int | None, delta: Payload) -> None:
        if delta.get("type") == "thought_summary":
            self.stop(index)
            self._add(index, "thought")
        super().add(index, delta)


@mutants.decoder("google-interactions", kind="thoughts-split", fails=(*CONTENT, "**:invariant.**"))
class ThoughtPerSummary:
    """Makes a block of each piece of a thought's summary."""

    steps_factory = _SplitThoughts


@mutants.outcome("google-interactions", kind="details-lost", paths=BOTH, fails=("**:continuation",))
def continuation_unread(outcome: Json) -> None:
    """Reports that an answer has to be continued, but loses the token for the next request."""
    outcome["continuation"] = None


@mutants.payloads("google-generate", kind="details-lost", paths=BOTH, fails=(*CONTENT, *USAGE))
def queries_unread(payload: Payload) -> Payload:
    """Loses the queries beside the answer, which say that Google Search ran and what is billed."""
    for candidate in _candidates(payload):
        object_at(candidate, "groundingMetadata").pop("webSearchQueries", None)
    return payload


@mutants.payloads("google-generate", kind="sources-lost", paths=BOTH, fails=(*CONTENT, *USAGE))
def grounding_unread(payload: Payload) -> Payload:
    """Reads the text of an answer, but not the metadata that names its sources."""
    for candidate in _candidates(payload):
        for kind in METADATA:
            candidate.pop(kind, None)
    return payload


# Usage and cost


@mutants.decoder("google-generate", kind="usage-outdated", fails=USAGE)
class FirstReportKept:
    """Keeps the first report of each count, so later ones are ignored."""

    message: Any

    def read(self, payload: Payload) -> None:
        before = self.message.usage()
        super().read(payload)  # type: ignore[misc]
        if before is not None and not self.message.ended:
            counts = ("input", "cache_read", "output", "reasoning")
            self.message.report_usage({name: getattr(before, name) for name in counts})


@mutants.decoder("google-interactions", kind="usage-outdated", fails=USAGE)
class FirstTotalsKept:
    """Keeps the first report of each total, although the totals grow."""

    totals_so_far: Mapping[str, Any] = {}

    def report(self, usage: Any, service_tier: str | None = None) -> None:
        if isinstance(usage, dict):
            usage = self.totals_so_far = {**usage, **self.totals_so_far}
        super().report(usage, service_tier)  # type: ignore[misc]


@mutants.decoder("ollama-chat", kind="usage-outdated", fails=USAGE)
class FirstRecordCounts:
    """Keeps the counts of the first record that has them."""

    first: Mapping[str, Any] = {}

    def read(self, payload: Payload) -> None:
        counts = {name: payload[name] for name in ("prompt_eval_count", "eval_count") if payload.get(name)}
        self.first = self.first or counts
        super().read({**payload, **self.first})  # type: ignore[misc]


@mutants.payloads(*_GOOGLE, kind="other-counts", paths=BOTH, fails=USAGE)
def output_from_the_totals(payload: Payload) -> Payload:
    """Subtracts the prompt from the total for the output, although the total includes the tools' tokens."""
    usage = object_at(payload, "usageMetadata")
    if isinstance(usage.get("totalTokenCount"), int) and isinstance(usage.get("promptTokenCount"), int):
        usage["candidatesTokenCount"] = usage["totalTokenCount"] - usage["promptTokenCount"]
        usage.pop("thoughtsTokenCount", None)
    usage = object_at(object_at(payload, "interaction"), "usage")
    if isinstance(usage.get("total_tokens"), int) and isinstance(usage.get("total_input_tokens"), int):
        usage["total_output_tokens"] = usage["total_tokens"] - usage["total_input_tokens"]
        usage.pop("total_thought_tokens", None)
    return payload


@mutants.decoder("ollama-chat", kind="other-counts", paths=BOTH, fails=USAGE)
class RecordsAsTokens:
    """Counts each record as one token of the output."""

    records = 0

    def read(self, payload: Payload) -> None:
        self.records += 1
        super().read({**payload, "eval_count": self.records})  # type: ignore[misc]


@mutants.decoder(*_ALL, kind="price-variant-ignored", paths=BOTH, fails=("**:cost.**",))
class PriceTiersIgnored:
    """Ignores that a long prompt has higher prices."""

    def __init__(self, *, pricing: Mapping[str, Any] | None = None, **rest: Any) -> None:
        one = None if pricing is None else {name: value for name, value in pricing.items() if name != "tiers"}
        super().__init__(pricing=one, **rest)  # type: ignore[call-arg]
