"""Mutants that decode openai-responses."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final

from streamconform_reference.apis.openai_responses import decode
from streamconform_reference.apis.openai_responses.answer import ResponseState
from streamconform_reference.apis.openai_responses.calls import CALLS
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding import fields
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.pricing import Pricing

from .json_values import drop_key, object_at
from .model import ARGUMENTS, ARGUMENTS_TEXT, BOTH, COMPLETE, CONTENT, ERROR, GIVES_UP, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("openai-responses", OpenaiResponsesDecoder)

_PARTS: Final = ("output_text", "refusal", "summary_text")

# The field that holds the arguments of a client's tool call, by item type.
_ARGUMENTS_KEYS: Final = {"function_call": "arguments", "custom_tool_call": "input"}


def _without_repeated_arguments(payload: Payload) -> Payload:
    """Return the payload without the arguments of client calls that the deltas have already sent."""
    kind = payload.get("type")
    if kind in ("response.function_call_arguments.done", "response.custom_tool_call_input.done"):
        return {key: value for key, value in payload.items() if key not in _ARGUMENTS_KEYS.values()}
    if kind == "response.output_item.done":
        return {**payload, "item": _without_arguments(object_at(payload, "item"))}
    output = object_at(payload, "response").get("output")
    if isinstance(output, list):
        items = [_without_arguments(item) for item in output if isinstance(item, dict)]
        return {**payload, "response": {**object_at(payload, "response"), "output": items}}
    return payload


def _without_arguments(item: Payload) -> Payload:
    kind = item.get("type")
    return (
        {**item, _ARGUMENTS_KEYS[kind]: None} if isinstance(kind, str) and kind in _ARGUMENTS_KEYS else item
    )


@mutants.decoder(
    kind="sources-lost",
    fails=("**:content.*.text.citations",),
)
class AnnotationsDropped(OpenaiResponsesDecoder):
    """Reads a part's text but drops its annotations, so the answer has no sources."""

    def read(self, payload: Payload) -> None:
        if payload.get("type") != "response.output_text.annotation.added":
            super().read(drop_key(payload, "annotations"))


@mutants.decoder(
    kind="provider-call-runs",
    fails=(*CONTENT, *STOP_REASON, "**:invariant.**"),
)
class ApprovalAsFunctionCall(OpenaiResponsesDecoder):
    """Mistakes a request to approve a remote tool's call for a call that the client must run."""

    def read(self, payload: Payload) -> None:
        super().read(_approve(payload))


def _approve(value: Any) -> Any:
    if isinstance(value, list):
        return [_approve(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: _approve(member) for name, member in value.items()}
    if members.get("type") == "mcp_approval_request":
        members |= {"type": "function_call", "call_id": members.get("id"), "status": "completed"}
    return members


@mutants.decoder(
    kind="content-doubled",
    fails=CONTENT,
)
class ContentIndexTrusted(OpenaiResponsesDecoder):
    """Mistakes `content_index` for the position in the finished item, so a text may be reported twice."""

    def read(self, payload: Payload) -> None:
        for item in self.answer.items:
            item.parts.clear()
        super().read(payload)


@mutants.decoder(
    kind="fragment-to-another-call",
    fails=(*ARGUMENTS, *ARGUMENTS_TEXT, *COMPLETE),
)
class CurrentCallJoined(OpenaiResponsesDecoder):
    """Appends the arguments of parallel calls to the most recently started call."""

    current: Any = None

    def read(self, payload: Payload) -> None:
        kind = str(payload.get("type"))
        if kind == "response.output_item.added" and object_at(payload, "item").get("type") in CALLS:
            self.current = payload.get("output_index")
        elif kind.endswith(("_arguments.delta", "_arguments.done")):
            payload = {**payload, "output_index": self.current, "item_id": None}
        # Arguments that a later event repeats would correct the mistake.
        super().read(_without_repeated_arguments(payload))


@mutants.replace(
    "handlers",
    "response.function_call_arguments.done",
    kind="arguments-doubled",
    fails=(*ARGUMENTS, *ARGUMENTS_TEXT, *COMPLETE),
)
def done_arguments_doubled(answer: ResponseState, payload: Payload) -> None:
    """Appends the arguments in `done` to the arguments from the deltas."""
    decode.on_arguments_delta(answer, {**payload, "delta": payload.get("arguments")})
    decode.on_arguments_done(answer, {**payload, "arguments": None}, key="arguments")


@mutants.decoder(
    kind="arguments-lost",
    fails=(*ARGUMENTS, *ARGUMENTS_TEXT, *COMPLETE),
)
class DoneArgumentsLost(OpenaiResponsesDecoder):
    """Reads arguments only from deltas, which some servers do not send."""

    def read(self, payload: Payload) -> None:
        super().read(_without_repeated_arguments(payload))


@mutants.decoder(
    kind="signature-lost",
    fails=("**:content.*.thinking.signature",),
)
class EncryptedContentOfStart(OpenaiResponsesDecoder):
    """Keeps the `encrypted_content` from the start of a reasoning item, which the API does not accept."""

    first: Any = None

    def read(self, payload: Payload) -> None:
        item = object_at(payload, "item")
        if item.get("type") == "reasoning":
            if payload.get("type") == "response.output_item.added":
                self.first = item.get("encrypted_content")
            else:
                payload = {**payload, "item": {**item, "encrypted_content": self.first}}
        super().read(payload)


@mutants.replace(
    "handlers",
    "response.failed",
    kind="failure-as-stop",
    fails=ERROR,
)
def failed_as_stop(answer: ResponseState, _: Payload) -> None:
    """Treats `response.failed` as the end of a complete answer."""
    answer.message.stop("stop", None)
    answer.message.complete()


@mutants.decoder(
    kind="final-content-unread",
    fails=(*CONTENT, "**:stop.reason"),
)
class FinalOutputIgnored(OpenaiResponsesDecoder):
    """Ignores the output in the final response, although some servers send nothing else."""

    def read(self, payload: Payload) -> None:
        response = object_at(payload, "response")
        if "output" in response:
            payload = {**payload, "response": {**response, "output": []}}
        super().read(payload)


@mutants.replace(
    "handlers",
    "error",
    kind="error-as-success",
    fails=ERROR,
)
def flat_error_ignored(answer: ResponseState, payload: Payload) -> None:
    """Reads only the nested form of the `error` event and treats the documented flat form as success."""
    if object_at(payload, "error"):
        decode.on_error(answer, payload)
    else:
        answer.message.stop("stop", None)
        answer.message.complete()


class _ClientCallAssembler(Assembler):
    def start_call(self, slot: Hashable, **fields: Any) -> None:
        super().start_call(slot, **{**fields, "executor": "client"})


@mutants.decoder(
    kind="provider-call-runs",
    fails=("**:content.*.tool_call.executor", "**:stop.reason"),
)
class HostedToolAsClient(OpenaiResponsesDecoder):
    """Asks the client to run a tool that OpenAI has already run."""

    def __init__(self, *, pricing: Any = None, **fields: Any) -> None:
        super().__init__(pricing=pricing, **fields)
        self.message = _ClientCallAssembler(Pricing(pricing) if pricing is not None else None)
        self.answer = ResponseState(self.message)


@mutants.replace(
    "handlers",
    "response.incomplete",
    kind="failure-as-stop",
    fails=("**:stop.**", *USAGE, *COMPLETE),
)
def incomplete_as_stop(answer: ResponseState, _: Payload) -> None:
    """Treats `response.incomplete` as a normal end and loses its reason and usage."""
    answer.message.stop("stop", None)
    answer.message.complete()


@mutants.decoder(
    kind="identity-trusted",
    fails=CONTENT,
)
class ItemIdCorrelated(OpenaiResponsesDecoder):
    """Matches events by `item_id`, which GitHub Copilot changes in every event."""

    known: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        kind = payload.get("type")
        name = payload.get("item_id") or object_at(payload, "item").get("id")
        if kind == "response.output_item.added":
            self.known |= {name}
        elif name and self.known and name not in self.known:
            return
        elif self.known and "output" in object_at(payload, "response"):
            payload = {**payload, "response": {**object_at(payload, "response"), "output": []}}
        super().read(payload)


@mutants.decoder(
    kind="details-lost",
    fails=CONTENT,
)
class PhaseGuessed(OpenaiResponsesDecoder):
    """Reports every message as the final answer, even the commentary before a call."""

    def read(self, payload: Payload) -> None:
        super().read(_finish_phases(payload))


def _finish_phases(value: Any) -> Any:
    if isinstance(value, list):
        return [_finish_phases(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: _finish_phases(member) for name, member in value.items()}
    return members | ({"phase": "final_answer"} if "phase" in members else {})


@mutants.decoder(
    kind="thinking-counted-wrong",
    fails=("**:usage.output", "**:cost.output", "**:cost.total"),
)
class ReasoningBilledTwice(OpenaiResponsesDecoder):
    """Adds the reasoning tokens to the output tokens, which already include them."""

    def read(self, payload: Payload) -> None:
        response = object_at(payload, "response")
        usage = object_at(response, "usage")
        output = usage.get("output_tokens")
        reasoning = object_at(usage, "output_tokens_details").get("reasoning_tokens")
        if isinstance(output, int) and isinstance(reasoning, int):
            usage = {**usage, "output_tokens": output + reasoning}
            payload = {**payload, "response": {**response, "usage": usage}}
        super().read(payload)


@mutants.decoder(
    kind="parts-glued",
    fails=("**:content.*.thinking.text",),
)
class SummaryPartsGlued(OpenaiResponsesDecoder):
    """Joins the parts of a reasoning summary without a separator."""

    def read(self, payload: Payload) -> None:
        kind = str(payload.get("type"))
        item = object_at(payload, "item")
        if kind.startswith("response.reasoning_summary"):
            if not kind.endswith(".delta"):
                return
            payload = {**payload, "summary_index": 0}
        elif item.get("type") == "reasoning":
            glued = "".join(fields.read_text(part, "text") for part in fields.read_objects(item, "summary"))
            summary = [{"type": "summary_text", "text": glued}]
            payload = {**payload, "item": {**item, "summary": summary}}
        super().read(payload)


@mutants.decoder(
    kind="unknown-fatal",
    fails=GIVES_UP,
)
class KeepaliveFatal(OpenaiResponsesDecoder):
    """Fails on the event `keepalive`, which OpenAI sends on long requests without documenting it."""

    def read(self, payload: Payload) -> None:
        if payload.get("type") == "keepalive":
            raise BrokenPayloadError("unknown event `keepalive`")
        super().read(payload)


@mutants.decoder(kind="identity-trusted", fails=GIVES_UP)
class UnknownItemFatal(OpenaiResponsesDecoder):
    """Fails on an event for an item whose id it has not seen in `output_item.added`."""

    known: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        kind = payload.get("type")
        if kind == "response.output_item.added":
            self.known |= {object_at(payload, "item").get("id")}
        elif "item_id" in payload and self.known and payload["item_id"] not in self.known:
            raise BrokenPayloadError(f"no item `{payload['item_id']}`")
        super().read(payload)


@mutants.decoder(kind="identity-trusted", fails=GIVES_UP)
class AnotherResponseFatal(OpenaiResponsesDecoder):
    """Fails on an event with another response id than the first, as GitHub Copilot sends."""

    first: object = None

    def read(self, payload: Payload) -> None:
        name = object_at(payload, "response").get("id")
        if self.first is None:
            self.first = name
        elif name not in {None, self.first}:
            raise BrokenPayloadError(f"event of response `{name}`, not `{self.first}`")
        super().read(payload)


@mutants.replace(
    "handlers",
    "response.function_call_arguments.done",
    kind="arguments-lost",
    fails=(*ARGUMENTS, *COMPLETE),
)
def empty_done_replaces_arguments(answer: ResponseState, payload: Payload) -> None:
    """Replaces a call's fragments with the arguments in `done`, even if those are empty."""
    item = answer.items.find_for_event(payload, "call")
    if item is not None:
        answer.message.settle_arguments(item, payload.get("arguments"))
        answer.message.end(item)


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def output_required(payload: Payload) -> bool:
    """Fails on the last event if its response has no output."""
    return payload.get("type") == "response.completed" and "output" not in object_at(payload, "response")


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def delta_without_text_fatal(payload: Payload) -> bool:
    """Fails on a delta without text."""
    return payload.get("delta") == ""


@mutants.refuse(kind="absent-fatal", paths=("document",), fails=GIVES_UP)
def content_of_message_required(payload: Payload) -> bool:
    """Fails on a message whose content is null."""
    items = object_at(payload, "response").get("output") or ()
    return any(item.get("type") == "message" and item.get("content") is None for item in items)


@mutants.refuse(kind="absent-fatal", paths=BOTH, fails=GIVES_UP)
def id_of_call_required(payload: Payload) -> bool:
    """Fails on a call whose item has no id."""
    output = object_at(payload, "response").get("output") or ()
    return any(_has_no_id(item) for item in (object_at(payload, "item"), *output))


@mutants.decoder(kind="identity-trusted", fails=(*CONTENT, *STOP_REASON))
class CallsByItemId(OpenaiResponsesDecoder):
    """Keeps calls by their item's id: one without is lost, and the final output does not complete it."""

    def read(self, payload: Payload) -> None:
        if _has_no_id(object_at(payload, "item")):
            return
        response = object_at(payload, "response")
        if "output" in response:
            known = [item for item in response["output"] or () if not _has_no_id(item)]
            payload = {**payload, "response": {**response, "output": known}}
        super().read(payload)


def _has_no_id(item: Payload) -> bool:
    return item.get("type") == "function_call" and "id" not in item


@mutants.refuse(kind="unknown-fatal", fails=GIVES_UP)
def unknown_part_fatal(payload: Payload) -> bool:
    """Fails on a part of content that is neither text nor a refusal."""
    return object_at(payload, "part").get("type", "refusal") not in _PARTS


@mutants.refuse(kind="identity-trusted", fails=GIVES_UP)
def numbers_required(payload: Payload) -> bool:
    """Fails on a delta that names no item, or has no number in the sequence."""
    return "delta" in payload and not payload.keys() >= {"item_id", "sequence_number"}


@mutants.decoder(kind="identity-trusted", fails=(*CONTENT, "**:invariant.**"))
class AddedItemsOnly(OpenaiResponsesDecoder):
    """Ignores the deltas of an item that no `output_item.added` has announced."""

    added: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        place = payload.get("output_index")
        if payload.get("type") == "response.output_item.added":
            self.added |= {place}
        if place in self.added or "delta" not in payload:
            super().read(payload)


@mutants.decoder(kind="details-lost", fails=CONTENT)
class CompactionUnread(OpenaiResponsesDecoder):
    """Ignores the item that replaces the history of a long conversation."""

    def read(self, payload: Payload) -> None:
        if object_at(payload, "item").get("type") == "compaction":
            return
        if items := object_at(payload, "response").get("output"):
            output = [item for item in items if item.get("type") != "compaction"]
            payload = {**payload, "response": {**payload["response"], "output": output}}
        super().read(payload)


def _change_items(payload: Payload, change: Callable[[Payload], Payload]) -> Payload:
    """Return the payload with each item changed, in item events and in the finished response."""
    if item := object_at(payload, "item"):
        return {**payload, "item": change(item)}
    if output := object_at(payload, "response").get("output"):
        return {**payload, "response": {**payload["response"], "output": [*map(change, output)]}}
    return payload


@mutants.decoder(kind="part-lost", paths=BOTH, fails=(*CONTENT, *STOP_REASON))
class FunctionsOnly(OpenaiResponsesDecoder):
    """Reads only functions and custom tools, so that nobody runs a shell command, a patch or a search."""

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, _hide_tool))


def _hide_tool(item: Payload) -> Payload:
    hidden = ("shell_call", "local_shell_call", "apply_patch_call", "tool_search_call")
    return {**item, "type": "hidden"} if item.get("type") in hidden else item


@mutants.decoder(
    kind="provider-call-runs",
    paths=BOTH,
    fails=("**:content.*.tool_call.executor", "**:stop.reason"),
)
class ContainerUnread(OpenaiResponsesDecoder):
    """Runs every shell command on the client's machine, even those that ran in OpenAI's container."""

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, partial(drop_key, key="environment")))


@mutants.decoder(kind="provider-call-runs", paths=BOTH, fails=(*CONTENT, *STOP_REASON, "**:invariant.**"))
class ProgramRuns(OpenaiResponsesDecoder):
    """Mistakes a program, and its result, for calls of a tool that the client must run."""

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, _call_program))


def _call_program(item: Payload) -> Payload:
    kind = item.get("type")
    if kind not in ("program", "program_output"):
        return item
    return {**item, "type": "custom_tool_call", "name": kind, "input": item.get("code") or item.get("result")}


@mutants.decoder(kind="details-lost", fails=CONTENT)
class ProgramOfStart(OpenaiResponsesDecoder):
    """Keeps a program as it was when it began, without code and with a fingerprint that is not accepted."""

    def begin(self) -> None:
        super().begin()
        self.first: dict[object, Payload] = {}

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, self._keep_first))

    def _keep_first(self, item: Payload) -> Payload:
        is_program = item.get("type") in ("program", "program_output")
        return self.first.setdefault(item.get("id"), item) if is_program else item


@mutants.decoder(kind="part-lost", paths=BOTH, fails=(*CONTENT, *STOP_REASON, *COMPLETE, "**:invariant.**"))
class CompletedCallsOnly(OpenaiResponsesDecoder):
    """Waits for the status `completed` of a call, which the calls of a program do not get."""

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, _doubt_call))


def _doubt_call(item: Payload) -> Payload:
    is_open = item.get("type") == "function_call" and item.get("status") == "in_progress"
    return {**item, "type": "hidden"} if is_open and "caller" in item else item


@mutants.decoder(kind="part-lost", paths=BOTH, fails=(*CONTENT, *STOP_REASON))
class AsyncByProvider(OpenaiResponsesDecoder):
    """Mistakes a call whose result comes later for one that the provider runs."""

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, _hide_async))


def _hide_async(item: Payload) -> Payload:
    return {**item, "type": "hidden"} if item.get("async") else item


@mutants.decoder(kind="identity-trusted", fails=("**:content.*.tool_call.id", *CONTENT))
class CallIdOfStart(OpenaiResponsesDecoder):
    """Keeps the id with which a call began, although a search for tools ends with another."""

    def begin(self) -> None:
        super().begin()
        self.first: dict[object, object] = {}

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, self._keep_first))

    def _keep_first(self, item: Payload) -> Payload:
        if "call_id" not in item:
            return item
        return {**item, "call_id": self.first.setdefault(item.get("id"), item["call_id"])}


@mutants.decoder(kind="unfinished-call-runs", paths=BOTH, fails=(*COMPLETE, *CONTENT, "**:invariant.**"))
class ItemStatusUnread(OpenaiResponsesDecoder):
    """Hands out every call of the finished response as executable, whatever its status."""

    def read(self, payload: Payload) -> None:
        super().read(_change_items(payload, partial(drop_key, key="status")))


@mutants.decoder(kind="error-as-success", fails=ERROR)
class MisalignmentAsStop(OpenaiResponsesDecoder):
    """Takes an answer that a safety review stopped for a complete one, since another may continue it."""

    def read(self, payload: Payload) -> None:
        response = object_at(payload, "response")
        if object_at(response, "error").get("misalignment"):
            finished = {**response, "status": "completed"}
            payload = {**payload, "type": "response.completed", "response": finished}
        super().read(payload)


@mutants.decoder(kind="cache-counted-twice", paths=BOTH, fails=(*USAGE, "**:cost.**"))
class CacheLifetimesAdded(OpenaiResponsesDecoder):
    """Adds the tokens written for each lifetime to their total, which already contains them."""

    def read(self, payload: Payload) -> None:
        response = object_at(payload, "response")
        usage = object_at(response, "usage")
        details = object_at(usage, "input_tokens_details")
        parts = object_at(details, "cache_write_tokens_details").values()
        if parts:
            details = {**details, "cache_write_tokens": details["cache_write_tokens"] + sum(parts)}
            payload = {
                **payload,
                "response": {**response, "usage": {**usage, "input_tokens_details": details}},
            }
        super().read(payload)


@mutants.refuse(kind="unknown-fatal", paths=BOTH, fails=GIVES_UP)
def item_error_fatal(payload: Payload) -> bool:
    """Fails on an item with an error, although the answer goes on."""
    items = [object_at(payload, "item"), *(object_at(payload, "response").get("output") or ())]
    return any(item.get("error") for item in items)
