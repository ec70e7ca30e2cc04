"""What mutants of requests share: the reference's builder, with a change before it or behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from streamconform_reference.adapter import Adapter, adapter_for, build_request
from streamconform_reference.apis import DECODERS
from streamconform_reference.outcome import Json

Asked = Mapping[str, Any]
"""A conversation, or a part of one."""


def asking(
    name: str,
    *apis: str,
    given: Callable[[Asked], Asked] | None = None,
    sent: Callable[[Asked, dict[str, Any]], None] | None = None,
) -> Adapter:
    """Return an adapter that builds wrong requests of these apis, and reads their streams as the reference.

    `given` returns what the builder is told in place of a conversation; `sent` changes the body, in place.
    """

    def build(api: str | None, conversation: Any) -> Json:
        told = given(conversation) if given else conversation
        request = deepcopy(build_request(api, told))
        if sent:
            sent(conversation, request["body"])
        return request

    decoders = {api: DECODERS[api] for api in apis}
    return adapter_for(decoders, {"build_request": build}, name=f"mutant:{name}")


def parts(body: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the lists of blocks or parts in which the messages of a body say something."""
    for message in body.get("messages", body.get("contents", ())):
        content = message.get("content", message.get("parts"))
        if isinstance(content, list):
            yield content
