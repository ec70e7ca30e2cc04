"""How recorded answers end according to the reference, and which enum values decide it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from streamconform.apis import APIS
from streamconform.model.case import Case
from streamconform.suite.shapes import Shape
from streamconform.wire.framings import MESSAGE_REWRITERS
from streamconform_capture.compare.findings import get_ending
from streamconform_capture.minimise.expected import decode_by_reference

COMPLETE: Final = "complete"


@dataclass(frozen=True, slots=True)
class Ending:
    """The answers of an API that are not complete, for one reason."""

    api: str
    status: str
    reason: str
    """The type of the error, or `-` if there is none."""
    answers: int
    example: str


def find_ending(case: Case) -> tuple[str, str] | None:
    """Return the status and the reason of a recorded answer that is not complete."""
    status, reason = get_ending(decode_by_reference(case.cassette, case).outcome)
    return None if status == COMPLETE else (status, reason)


def changes_outcome(case: Case, shape: Shape) -> bool:
    """Return whether an answer has another outcome without an enum value."""
    framing = APIS[case.api].frame_case(case, case.cassette.body)
    key, word = re.escape(shape.path.rpartition(".")[2]), re.escape(shape.type.removeprefix("= "))
    # Binary messages have checksums.
    if framing in MESSAGE_REWRITERS:
        return False
    value = re.compile(rf'("{key}"\s*:\s*)"{word}"'.encode())
    without = replace(case.cassette, body=value.sub(rb"\1null", case.cassette.body))
    return decode_by_reference(case.cassette, case).outcome != decode_by_reference(without, case).outcome
