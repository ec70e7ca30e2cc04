"""Gemini `streamGenerateContent`: server-sent events or a JSON array in, events and the outcome out.

Source: https://ai.google.dev/api/generate-content, the types in the `google-genai` package, and
recorded streams of the Gemini API and of Vertex AI.

Undocumented behavior, and differences between servers:

- The answer is complete if it has a `finishReason`, or a `blockReason` if the prompt was blocked. There is no
  `[DONE]`. The reason is not always in the last chunk: gateways send it first, code execution sends one per
  round, and usage may follow without candidates. The answer therefore stays open until the end of the body,
  and the last of several reasons wins.
- `STOP` follows function calls too. A reason that names a failure makes the answer an error, with the
  `finishMessage`. Some clients re-encode reasons as enum numbers. What Google says in words about a filter is
  in the stop's details.
- `content` may be absent, empty, or without `parts`. Only `thought: true` marks text as thinking; a
  `thoughtSignature` does not. The signature belongs to the text or call in its part; see `prose`.
- An answer that is too long for one response ends with `CONTINUATION` and a token for the next request.
- Candidates other than 0 are ignored; index 0 is omitted on the wire.
- Code that the provider ran, its results, images and grounding data are `other` blocks. Grounding and
  citations are repeated in later chunks: the last non-empty one wins.
- An error may follow content, and even the reason, as a separate payload or in an array.
- The first non-empty id and model are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import DONE_MARK, BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.json_array import JsonArrayFraming
from streamconform_reference.outcome import Error
from streamconform_reference.pricing import Billing

from .calls import FunctionCalls
from .framing import GoogleFraming
from .prose import SignedProse
from .reasons import NUMBERED_REASONS, STOP_REASONS, read_enum
from .usage import PRICED, TOOL_USE, compute_buckets, read_billing, read_counts

PartHandler = Callable[["GoogleGenerateDecoder", Any, str], None]

_TRUNCATING: Final = frozenset({"length", "content_filter", "error"})
_EXPLAINED: Final = frozenset({"content_filter", "other"})

_BILLED_TOOLS: Final = frozenset({"executableCode", "codeExecutionResult", "toolCall", "toolResponse"})
"""Parts from the provider's tools whose results are, or may be, charged as input."""
# Metadata of the candidate, which later chunks repeat.
METADATA: Final = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
_METADATA: Final = frozenset(METADATA)
# Vertex AI says in words why it blocked a prompt:
# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse
BLOCK_MESSAGE: Final = "blockReasonMessage"


def take_function_call(answer: GoogleGenerateDecoder, call: Any, signature: str) -> None:
    """Read a call, or a piece of one."""
    answer.calls.take(call, signature)


def take_provider_call(answer: GoogleGenerateDecoder, call: Any, signature: str) -> None:
    """Read a call that the provider runs."""
    if not isinstance(call, dict):
        raise BrokenPayloadError("`toolCall` is not an object")
    answer.calls.add_provider_call(call, signature)


def _make_keeper(kind: str) -> PartHandler:
    def keep(answer: GoogleGenerateDecoder, data: Any, signature: str) -> None:
        answer.prose.sign_other(signature)
        answer.message.add_other(kind, data)

    return keep


# Parts without text, by field. A part with none of these fields is ignored.
PARTS: Final[Mapping[str, PartHandler]] = {
    "functionCall": take_function_call,
    "toolCall": take_provider_call,
    "toolResponse": _make_keeper("toolResponse"),
    "executableCode": _make_keeper("executableCode"),
    "codeExecutionResult": _make_keeper("codeExecutionResult"),
    "inlineData": _make_keeper("inlineData"),
    "fileData": _make_keeper("fileData"),
    "functionResponse": _make_keeper("functionResponse"),
}


class GoogleGenerateDecoder(Decoder):
    """Decodes one response of `streamGenerateContent`, in either of its framings."""

    framing_factory: ClassVar[Callable[[], Framing]] = GoogleFraming
    parts: ClassVar[Mapping[str, PartHandler]] = PARTS
    calls_factory: ClassVar[type[FunctionCalls]] = FunctionCalls

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self.prose = SignedProse(self.message)
        self.calls = self.calls_factory(self.message, self.prose.end)
        self.finish: str | None = None
        self.finish_message: str | None = None
        self.counts: dict[str, int] = {}
        self._billing = Billing()
        self._details: list[Any] = []  # the source of `_billing`, which is the same in almost every chunk
        self._searched = False
        self._ran_other_tools = False

    def receive_frame(self, frame: Frame) -> None:
        """Decode one frame; an array (some errors are arrays) is decoded element by element."""
        # `[DONE]`, which gateways append, begins like an array.
        if not frame.data.startswith(b"[") or frame.data.strip() == DONE_MARK:
            super().receive_frame(frame)
            return
        inner = JsonArrayFraming()
        for element in inner.receive(frame.data) + inner.end():
            super().receive_frame(element)

    def read(self, payload: Payload) -> None:
        """Read one chunk."""
        self._identify(payload)
        candidates = payload.get("candidates")
        if not isinstance(candidates, list):
            if candidates is not None:
                raise BrokenPayloadError("`candidates` is not a list")
            candidates = ()
        for position, candidate in enumerate(candidates):
            if isinstance(candidate, dict) and not candidate.get("index", position):
                self.read_candidate(candidate)
        if payload.get("promptFeedback"):
            self.read_feedback(payload["promptFeedback"])
        usage = payload.get("usageMetadata")
        if isinstance(usage, dict):
            self.read_usage(usage)
        # Grounding may follow the usage, and changes which part of it is charged.
        elif self._searched and self.counts:
            self._report_usage()
        if payload.get("error"):
            self.message.fail(read_error(payload))

    def read_candidate(self, candidate: Payload) -> None:
        """Read the content of candidate 0, and its finish reason."""
        content = candidate.get("content")
        if content is not None:
            if not isinstance(content, dict):
                raise BrokenPayloadError("`content` is not an object")
            parts = content.get("parts")
            if not isinstance(parts, list):
                if parts is not None:
                    raise BrokenPayloadError("`parts` is not a list")
                parts = ()
            for part in parts:
                if not isinstance(part, dict):
                    raise BrokenPayloadError("a part is not an object")
                self.read_part(part)
        # Most chunks have none of these fields, so a single set operation skips them.
        if not _METADATA.isdisjoint(candidate):
            for kind in METADATA:
                if candidate.get(kind):
                    self._keep_last(kind, candidate[kind])
            grounding = candidate.get("groundingMetadata")
            if isinstance(grounding, dict) and grounding.get("webSearchQueries"):
                self._searched = True
            if candidate.get("urlContextMetadata"):
                self._ran_other_tools = True
        token = candidate.get("continuationToken")
        if isinstance(token, str):
            self.message.continuation = token or None
        finish = candidate.get("finishReason")
        if finish:
            self.read_finish(finish, candidate.get("finishMessage"))

    def read_part(self, part: Payload) -> None:
        """Read a part. A part that has only a signature counts as text."""
        signature = part.get("thoughtSignature")
        if not isinstance(signature, str):
            signature = ""
        text = part.get("text")
        if text is not None and not isinstance(text, str):
            raise BrokenPayloadError("`text` is not text")
        if text is not None:
            self.read_text(part, text, signature)
            return
        for key, take in self.parts.items():
            value = part.get(key)
            if value is not None:
                self._ran_other_tools = self._ran_other_tools or key in _BILLED_TOOLS
                take(self, value, signature)
                return
        self.read_text(part, "", signature)

    def read_text(self, part: Payload, text: str, signature: str) -> None:
        """Read a text or thinking part; a part with neither text nor signature is ignored."""
        if text or signature:
            self.prose.append("thinking" if part.get("thought") else "text", text, signature)

    def read_finish(self, finish: Any, finish_message: Any) -> None:
        """Set the finish reason; the answer stays open, as does a call that may have been cut off."""
        raw = read_enum(finish, "finishReason")
        self.finish = NUMBERED_REASONS.get(raw, raw)
        self.finish_message = finish_message if isinstance(finish_message, str) else None
        reason = STOP_REASONS.get(self.finish, "other")
        # For `STOP`, it says only that the model called functions; for a failure, it is the error's message.
        said = self.finish_message if reason in _EXPLAINED else None
        self.message.stop(reason, raw, details={"finishMessage": said} if said else None)
        if reason not in _TRUNCATING:
            self.calls.close()

    def read_feedback(self, feedback: Any) -> None:
        """If the prompt was blocked, set the reason; in that case, there are no candidates."""
        blocked = feedback.get("blockReason") if isinstance(feedback, dict) else None
        if blocked:
            self.finish = read_enum(blocked, "blockReason")
            reason = feedback.get(BLOCK_MESSAGE)
            details = {BLOCK_MESSAGE: reason} if isinstance(reason, str) and reason else None
            self.message.stop("content_filter", self.finish, details=details)

    def end_of_body(self) -> None:
        """End the answer; it is complete if there was a reason, unless the reason names a failure."""
        if self.message.ended:
            return
        if self.finish is None or self.lacks_usage_of_cut_frame:
            self.message.end_of_file()
        elif STOP_REASONS.get(self.finish) == "error":
            self.message.fail(Error(self.finish, self.finish_message, None))
        else:
            self.prose.end()
            self.message.complete()

    def read_usage(self, usage: Payload) -> None:
        """Report usage; Vertex AI sends objects that name the tier but have no counts."""
        if not PRICED.isdisjoint(usage):
            details = [usage.get(name) for name in PRICED]
            if details != self._details:
                self._details, self._billing = details, self._billing.merge(read_billing(usage))
        counts = read_counts(usage)
        if counts:
            self.count(counts)
            self._report_usage()

    def count(self, counts: Mapping[str, int]) -> None:
        """Merge a report; the last report of each count wins."""
        self.counts.update(counts)

    @staticmethod
    def to_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
        """Return the counts so far as disjoint buckets."""
        return compute_buckets(counts)

    def _report_usage(self) -> None:
        """Report the counts so far; content retrieved by Google Search is not charged as input."""
        counts = self.counts
        if self._searched and not self._ran_other_tools:
            counts = {name: count for name, count in counts.items() if name != TOOL_USE}
        self.message.report_usage(self.to_buckets(counts), self._billing)

    def _identify(self, payload: Payload) -> None:
        if self.message.response_id is None and isinstance(name := payload.get("responseId"), str):
            self.message.response_id = name or None
        if self.message.model is None and isinstance(name := payload.get("modelVersion"), str):
            self.message.model = name or None

    def _keep_last(self, kind: str, data: Any) -> None:
        if self.message.other(kind) is None:
            self.message.add_other(kind, data, slot=kind)
        else:
            self.message.replace_other(kind, data)
