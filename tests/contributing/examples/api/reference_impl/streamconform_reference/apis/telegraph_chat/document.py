"""The non-streaming answer: an object with all records.

Source: https://telegraph.example/docs/chat
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the records.

    Raises:
        BrokenPayloadError: the document has no records.
    """
    records = document.get("records")
    if not isinstance(records, list):
        raise BrokenPayloadError("the document has no `records`")
    yield from (record for record in records if isinstance(record, dict))
