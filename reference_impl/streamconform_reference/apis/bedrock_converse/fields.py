"""Fields of Bedrock's payloads that are read otherwise than everybody's."""

from __future__ import annotations

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def part(holder: Payload, key: str) -> Payload:
    """Return the object under the key, empty where it is null or absent."""
    value = holder.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        raise BrokenPayloadError(f"`{key}` is no object")
    return {}


def index(payload: Payload) -> int:
    """Return the number of the block that the payload is about."""
    value = payload.get("contentBlockIndex")
    if type(value) is not int:
        raise BrokenPayloadError("an event of a block has no `contentBlockIndex`")
    return value
