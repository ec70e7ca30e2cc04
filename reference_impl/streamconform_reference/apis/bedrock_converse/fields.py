"""Readers for Bedrock payload fields, where they differ from those in `decoding.fields`."""

from __future__ import annotations

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def read_object(holder: Payload, key: str) -> Payload:
    """Return the object under the key; empty if it is null or absent."""
    value = holder.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        raise BrokenPayloadError(f"`{key}` is not an object")
    return {}


def require_block_index(payload: Payload) -> int:
    """Return the index of the block that the payload belongs to."""
    value = payload.get("contentBlockIndex")
    if type(value) is not int:
        raise BrokenPayloadError("a block event has no `contentBlockIndex`")
    return value
