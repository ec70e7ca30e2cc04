"""OpenAI Chat Completions and its dialects: server-sent events in, events and the outcome out.

Source: https://platform.openai.com/docs/api-reference/chat-streaming, the types in the `openai` package
(3.54.0), and recorded streams from other vendors that use this API.

Undocumented behavior, and differences between servers:

- The answer is complete if it has a `finish_reason`, regardless of `[DONE]`: without a reason, the answer is
  incomplete, whether it ends with `[DONE]` or with the end of the body. Only audio ends without a reason (see
  `audio`), and a document, for which OpenRouter has sent none.
- The reason is not always in the last chunk: usage follows in a chunk with `choices: []`, OpenRouter repeats
  the reason there, and some servers send more content and another reason. The answer therefore stays open
  until `[DONE]` or the end of the body, and the last of several reasons wins.
- A call ends at the reason, so that the client's next step never waits for usage. `stop` ends no call,
  because proxies send it after every chunk (1jehuang/jcode#1326); the call then ends with the answer, or
  where the stream breaks after the reason.
- `finish_reason: ""` (SGLang) counts as null. `stop` may follow tool calls and refusals. A reason that names
  a failure makes the answer an error even if no error object follows.
- Choices other than 0 are ignored, and so are chunks without `choices` (guardrails, Azure's filters). A
  choice may lack its `delta`. A `message` next to or after deltas repeats the answer (Perplexity, MiniMax);
  it is read only if nothing came before it.
- An error is an object, a bare string, or `{"object": "error", ...}` (vLLM), with or without choices; from
  OpenRouter, it may be in the choice, whose reason then ends no call. It counts even after the reason,
  because it means that the provider withdraws the answer.
- `content` is text, null or, from Mistral and Databricks, a list of parts that may include thinking. Tags
  such as `<think>` inside text stay text.
- Fields may come in any order; reasoning is read before the text of the same chunk.
- The first non-empty id and model are kept, because Azure's first chunk has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.prose import Prose
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.outcome import Error
from streamconform_reference.pricing import Billing

from .audio import AUDIO, Audio
from .citations import Citations
from .details import DETAILS, Details
from .reasoning import DETAIL_KEYS, OPAQUE_KEY, TEXT_KEYS, Reasoning, read_reasoning
from .reasons import TRUNCATING, read_reason
from .tool_calls import LEGACY_INDEX, ToolCalls, read_fragment, read_signature
from .usage import compute_buckets, find_usages, read_counts, read_tier

FieldHandler = Callable[["OpenaiChatDecoder", Any], None]

_REASONING_KEYS: Final = frozenset((*TEXT_KEYS, *DETAIL_KEYS, OPAQUE_KEY))


def take_content(answer: OpenaiChatDecoder, content: Any) -> None:
    """Append visible text, or the parts of a content list."""
    if isinstance(content, str):
        answer.prose.append("text", content)
        return
    if not isinstance(content, list):
        raise BrokenPayloadError("`content` is neither text nor a list")
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        take = PARTS.get(kind) if isinstance(kind, str) else None
        if take:
            take(answer, part)
        elif isinstance(kind, str):
            answer.message.add_other(kind, part)


def take_refusal(answer: OpenaiChatDecoder, refusal: Any) -> None:
    """Append refusal text."""
    if not isinstance(refusal, str):
        raise BrokenPayloadError("`refusal` is not text")
    answer.prose.append("refusal", refusal)


def take_annotations(answer: OpenaiChatDecoder, annotations: Any) -> None:
    """Append to the citations."""
    answer.citations.annotate(annotations)


def take_tool_calls(answer: OpenaiChatDecoder, entries: Any) -> None:
    """Read fragments of tool calls; one chunk may have several."""
    if not isinstance(entries, list):
        raise BrokenPayloadError("`tool_calls` is not a list")
    for entry in entries:
        answer.calls.take(read_fragment(entry))


def take_function_call(answer: OpenaiChatDecoder, function: Any) -> None:
    """Read a fragment of the deprecated `function_call`, unless it repeats the content of `tool_calls`."""
    if not answer.calls.listed:
        answer.calls.take(read_fragment({"function": function}, index=LEGACY_INDEX))


# The fields of a delta, in the order in which they are read, regardless of their order on the wire.
FIELDS: Final[Mapping[str, FieldHandler]] = {
    "content": take_content,
    "refusal": take_refusal,
    "annotations": take_annotations,
    "tool_calls": take_tool_calls,
    "function_call": take_function_call,
}


def take_text_part(answer: OpenaiChatDecoder, part: Payload) -> None:
    """Append a content part's text."""
    _append_part(answer, "text", part.get("text"))


def take_refusal_part(answer: OpenaiChatDecoder, part: Payload) -> None:
    """Append a content part's refusal."""
    text = part.get("refusal")
    if isinstance(text, str) and text:
        answer.prose.append("refusal", text)


def take_thinking_part(answer: OpenaiChatDecoder, part: Payload) -> None:
    """Append Mistral's thinking, which is itself a list of text parts, and its signature."""
    inner = part.get("thinking")
    for piece in inner if isinstance(inner, list) else (inner,):
        _append_part(answer, "thinking", piece.get("text") if isinstance(piece, dict) else piece)
    signature = part.get("signature")
    if isinstance(signature, str) and signature:
        answer.prose.sign(signature, part="thinking")


def take_reasoning_part(answer: OpenaiChatDecoder, part: Payload) -> None:
    """Append Databricks' reasoning, which is a list of summaries that may be signed."""
    summaries = part.get("summary")
    for piece in summaries if isinstance(summaries, list) else ():
        if isinstance(piece, dict):
            _append_part(answer, "thinking", piece.get("text"))
            signature = piece.get("signature")
            if isinstance(signature, str) and signature:
                answer.prose.sign(signature, part="reasoning")


# The parts of a content list, by type. Any other type becomes an `other` block.
PARTS: Final[Mapping[str, FieldHandler]] = {
    "text": take_text_part,
    "refusal": take_refusal_part,
    "thinking": take_thinking_part,
    "reasoning": take_reasoning_part,
}


class OpenaiChatDecoder(Decoder):
    """Decodes one response of `POST /v1/chat/completions` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    mark_ends_body: ClassVar[bool] = True
    fields: ClassVar[Mapping[str, FieldHandler]] = FIELDS
    calls_factory: ClassVar[type[ToolCalls]] = ToolCalls

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self.prose = Prose(self.message)
        self.calls = self.calls_factory(self.message, self.prose.end)
        self.citations = Citations(self.message)
        self.audio = Audio()
        self.details = Details()
        self.finish: str | None = None
        self.counts: dict[str, int] = {}
        self._service_tier: str | None = None

    def read(self, payload: Payload) -> None:
        """Read one chunk."""
        self._identify(payload)
        choices = payload.get("choices")
        if not isinstance(choices, list):
            if choices is not None:
                raise BrokenPayloadError("`choices` is not a list")
            choices = ()
        chosen: Payload = {}
        for choice in choices:
            if isinstance(choice, dict) and not choice.get("index"):
                chosen = choice
                self.read_choice(choice)
        self.citations.settle(payload.get("citations"), self.prose.text_slot)
        self.read_usage(payload, chosen)
        if payload.get("error") or payload.get("object") == "error" or payload.get("type") == "error":
            self.message.fail(read_error(payload))
        elif chosen.get("error"):
            self.message.fail(read_error({"error": chosen["error"]}))

    def read_choice(self, choice: Payload) -> None:
        """Read the content of choice 0, and its finish reason."""
        delta = choice.get("delta")
        if delta is None and not (self.prose.started or self.calls.begun):
            delta = choice.get("message")
        if delta is not None:
            if not isinstance(delta, dict):
                raise BrokenPayloadError("`delta` is not an object")
            self.read_delta(delta)
        finish = choice.get("finish_reason")
        if finish:
            if not isinstance(finish, str):
                raise BrokenPayloadError("`finish_reason` is not text")
            self.read_finish(finish, failed=bool(choice.get("error")))

    def read_delta(self, delta: Payload) -> None:
        """Read the fields of a delta; null, empty and unknown fields are ignored."""
        if AUDIO in delta or self.audio.ended:
            self.audio.read(delta)
        # Most deltas have no reasoning, so a single set operation skips them.
        if not _REASONING_KEYS.isdisjoint(delta):
            self.details.add(delta.get(DETAILS))
            for piece in self.to_reasoning(delta):
                if piece.text:
                    self.prose.append("thinking", piece.text)
                if piece.signature:
                    self.prose.sign(piece.signature, part=piece.part, redacted=piece.redacted)
        signature = read_signature(delta)
        entries = delta.get("tool_calls") if signature else None
        if entries and isinstance(entries, list) and isinstance(entries[0], dict):
            # Gemini signs only the first of several calls.
            signed = {**entries[0], "extra_content": delta["extra_content"]}
            delta, signature = {**delta, "tool_calls": [signed, *entries[1:]]}, ""
        for key, take in self.fields.items():
            value = delta.get(key)
            if value:
                take(self, value)
        if signature:
            self.calls.sign_last(signature)

    def read_finish(self, finish: str, *, failed: bool = False) -> None:
        """Set the finish reason, and end the calls if it means that they are whole; the answer stays open."""
        reason = read_reason(finish)
        self.finish = finish
        self.message.stop(reason, finish)
        if reason not in ("error", "stop") and not failed:
            self.calls.end(truncated=reason in TRUNCATING)

    def end_of_body(self) -> None:
        """End the answer; it is complete if there was a reason, unless the reason is a failure."""
        if self.message.ended:
            return
        ended = self.finish is not None or self._ends_without_reason()
        if ended and (self.finish is None or read_reason(self.finish) == "stop"):
            self.calls.end(truncated=False)
        if not ended or self.lacks_usage_of_cut_frame:
            self.message.end_of_file()
        elif self.finish and read_reason(self.finish) == "error":
            self.message.fail(Error(self.finish, None, None))
        else:
            if self.finish is None:
                self.message.stop("stop", None)
            self.prose.end()
            if details := self.details.whole():
                self.message.add_other(DETAILS, details)
            self.message.complete()

    def read_usage(self, payload: Payload, choice: Payload) -> None:
        """Read a chunk's usage, and the service tier that selects its prices."""
        tier = payload.get("service_tier")
        changed = False
        if tier != self._service_tier and isinstance(tier, str):
            self._service_tier = tier
            # A tier that arrives after the counts changes their cost.
            changed = bool(self.counts)
        if payload.get("usage") or payload.get("x_groq") or choice.get("usage"):
            for usage in find_usages(payload, choice):
                self._service_tier = self._service_tier or read_tier(usage)
                counts = read_counts(usage)
                self.count(counts)
                changed = changed or bool(counts)
        if changed:
            self.report()

    def count(self, counts: Mapping[str, int]) -> None:
        """Merge a report; the last report of each count wins."""
        self.counts.update(counts)

    def report(self) -> None:
        """Report the usage so far."""
        self.message.report_usage(self.to_buckets(self.counts), Billing(service_tier=self._service_tier))

    @staticmethod
    def to_reasoning(delta: Payload) -> Iterable[Reasoning]:
        """Return the pieces of reasoning in a delta."""
        return read_reasoning(delta)

    @staticmethod
    def to_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
        """Return the counts so far as disjoint buckets."""
        return compute_buckets(counts)

    def _ends_without_reason(self) -> bool:
        """Whether the end is known without a reason: that of a document with an answer, or of audio."""
        if self.whole:
            return self.prose.started or self.calls.begun
        return self.audio.ended and not self.calls.begun

    def _identify(self, payload: Payload) -> None:
        if not self.message.response_id and isinstance(name := payload.get("id"), str):
            self.message.response_id = name or None
        if not self.message.model and isinstance(name := payload.get("model"), str):
            self.message.model = name or None


def _append_part(answer: OpenaiChatDecoder, kind: Any, text: Any) -> None:
    if isinstance(text, str) and text:
        answer.prose.append(kind, text)
