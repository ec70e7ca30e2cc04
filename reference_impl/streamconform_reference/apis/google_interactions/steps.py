"""Turn steps into blocks: how each type of step starts and grows.

- `model_output`: each run of text is a block, whose annotations are its citations. An image or other media
  item is an `other` block of the same type.
- `thought`: one thinking block, which joins the summaries. Its signature is the last non-empty one,
  because some servers send empty ones first.
- `function_call`: a call for the client. Its arguments are an empty object in the start and fragments of text
  in the deltas; a complete object replaces everything before it.
- Any other step whose type ends with `_call` is a call to one of Google's tools, named after its type.
- All remaining steps are `other` blocks of the same type, including the data in their deltas.
- `user_input` repeats the request and is left out.

An event belongs to the step with its `index`; without an index, to the step that started last. A delta that
does not fit its step is ignored. A delta for an index without a step starts a step of the matching type.

Source: https://ai.google.dev/api/interactions-api#Resource:Step and the types in the `google-genai` package
(3.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.citations import CitationFields
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_objects, read_text

_CALL: Final = "_call"
_REQUEST: Final = "user_input"
CITATIONS: Final = CitationFields(
    source=("url", "document_uri", "place_id"),
    title=("title", "file_name", "name"),
    start="start_index",
    end="end_index",
)
"""Positions are byte offsets in the text."""


@dataclass(slots=True, eq=False)
class Step:
    """One step. The object itself is the slot of the step's block, except for `model_output`."""

    kind: str
    run: int = 0
    """The number of the current run of text in a `model_output`."""


class Steps:
    """The steps of one answer."""

    def __init__(self, message: Assembler) -> None:
        """Start with no steps."""
        self.message = message
        self.kinds: set[str] = set()
        """The types of the steps so far."""
        self.error: Any = None
        """The error of a `model_output` step, if there was one."""
        self._steps: dict[int, Step] = {}
        self._last: Step | None = None

    def start(self, index: int | None, data: Payload) -> None:
        """Start a step with the content of its start event.

        Raises:
            BrokenPayloadError: the step has no type.
        """
        kind = data.get("type")
        if not isinstance(kind, str):
            raise BrokenPayloadError("a step has no type")
        step = self._add(index, kind)
        if kind == "model_output":
            self.error = data.get("error") or self.error
            for content in read_objects(data, "content"):
                self._add_content(step, content)
        elif kind == "thought":
            self.message.start(step, "thinking")
            for content in read_objects(data, "summary"):
                _add_summary(self, step, {"content": content})
            _add_signature(self, step, data)
        elif kind.endswith(_CALL):
            self._start_call(step, data)
        elif kind != _REQUEST:
            self.message.add_other(kind, data, slot=step)

    def start_content(self, index: int | None, data: Payload) -> None:
        """Start a content item of the API's first schema as the step type that replaced it.

        Raises:
            BrokenPayloadError: the item has no type.
        """
        kind = data.get("type")
        is_step = isinstance(kind, str) and (kind == "thought" or kind.endswith((_CALL, "_result")))
        self.start(index, data if is_step else {"type": "model_output", "content": [data]})

    def add_listed(self, interaction: Payload) -> None:
        """Add the steps of an interaction, or the content items of the API's first schema."""
        for number, step in enumerate(read_objects(interaction, "steps")):
            self.start(number, step)
            self.stop(number)
        for number, content in enumerate(read_objects(interaction, "outputs")):
            self.start_content(number, content)
            self.stop(number)

    def add(self, index: int | None, delta: Payload) -> None:
        """Append to a step; a delta of an unknown type is ignored."""
        kind = delta.get("type")
        if not isinstance(kind, str):
            raise BrokenPayloadError("a delta has no type")
        step = self._find(index)
        if step is None:
            if kind.endswith(_CALL):
                self.start(index, delta)
                return
            if kind not in _STARTED_BY:
                return
            step = self._add(index, _STARTED_BY[kind])
        if kind == step.kind:
            self._merge(step, delta)
        elif handler := DELTAS.get((step.kind, kind)) or DELTAS.get(("", kind)):
            handler(self, step, delta)

    def stop(self, index: int | None) -> None:
        """End a step."""
        step = self._find(index)
        if step is not None:
            self.message.end((step, step.run) if step.kind == "model_output" else step)

    def _add(self, index: int | None, kind: str) -> Step:
        step = self._last = Step(kind)
        self.kinds.add(kind)
        if index is not None:
            self._steps[index] = step
        return step

    def _find(self, index: int | None) -> Step | None:
        return self._last if index is None else self._steps.get(index)

    def _start_call(self, step: Step, data: Payload) -> None:
        by_client = step.kind == "function_call"
        name = read_text(data, "name") or ("" if by_client else step.kind.removesuffix(_CALL))
        self.message.start_call(
            step,
            id=read_text(data, "id") or None,
            name=name,
            executor="client" if by_client else "provider",
            initial_arguments=data.get("arguments"),
            announced=bool(name),
        )
        self.message.sign_content(step, read_text(data, "signature"))

    def _add_content(self, step: Step, content: Payload) -> None:
        """Add a content item of a `model_output`."""
        if content.get("type") == "text":
            _add_text(self, step, content)
            _add_annotations(self, step, content)
        else:
            add_medium(self, step, content)

    def _merge(self, step: Step, delta: Payload) -> None:
        """Add the data in a delta that has the same type as its step.

        Google's tools send such deltas. In the API's first schema, they contain every call, whose start has
        only its type.
        """
        if step.kind.endswith(_CALL):
            self.message.describe_call(step, id=read_text(delta, "id"), name=read_text(delta, "name"))
            if delta.get("arguments") is not None:
                self.message.settle_arguments(step, delta["arguments"])
            self.message.sign_content(step, read_text(delta, "signature"))
            return
        data = self.message.other(step)
        if isinstance(data, dict):
            self.message.replace_other(
                step, data | {key: value for key, value in delta.items() if value != ""}
            )


DeltaHandler = Callable[[Steps, Step, Payload], None]


def _add_text(steps: Steps, step: Step, delta: Payload) -> None:
    steps.message.add((step, step.run), "text", read_text(delta, "text"))


def _add_annotations(steps: Steps, step: Step, delta: Payload) -> None:
    annotations = read_objects(delta, "annotations")
    if annotations:
        # The words of a transcription are annotations too, but have no source.
        cited = [
            citation for citation in map(CITATIONS.read, annotations) if citation.source or citation.title
        ]
        steps.message.cite((step, step.run), cited)


def add_medium(steps: Steps, step: Step, delta: Payload) -> None:
    """Add an image or other media item; text after it is a new block."""
    steps.message.end((step, step.run))
    step.run += 1
    steps.message.add_other(read_text(delta, "type") or "content", delta)


def _add_summary(steps: Steps, step: Step, delta: Payload) -> None:
    content = delta.get("content")
    if isinstance(content, dict):
        steps.message.add(step, "thinking", read_text(content, "text"))


def _add_signature(steps: Steps, step: Step, delta: Payload) -> None:
    signature = read_text(delta, "signature")
    if signature:
        steps.message.sign(step, signature, replaces=True)


def _add_arguments(steps: Steps, step: Step, delta: Payload) -> None:
    arguments = delta.get("arguments")
    if isinstance(arguments, str):
        steps.message.add_arguments(step, arguments)
    elif isinstance(arguments, dict):
        steps.message.settle_arguments(step, arguments)
    elif arguments is not None:
        raise BrokenPayloadError("`arguments` is neither text nor an object")


DELTAS: Final[Mapping[tuple[str, str], DeltaHandler]] = {
    ("model_output", "text"): _add_text,
    ("model_output", "text_annotation_delta"): _add_annotations,
    ("model_output", "image"): add_medium,
    ("model_output", "audio"): add_medium,
    ("model_output", "document"): add_medium,
    ("model_output", "video"): add_medium,
    ("thought", "thought_summary"): _add_summary,
    ("thought", "thought_signature"): _add_signature,
    ("", "arguments_delta"): _add_arguments,
}
"""Maps step type and delta type to the delta's handler; a key without a step type applies to any step."""
_STARTED_BY: Final = {
    "text": "model_output",
    "thought_summary": "thought",
    "thought_signature": "thought",
}
"""The type of step that a delta starts if no step has its index."""
