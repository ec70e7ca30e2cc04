"""Check a proxy's answers and its upstream requests against rules. Pure.

- `grammar.<rule>`: the order and fields of the stream's frames, as in `conform probe`
- `http.content-type`, `refusal.<path>`: the form of streams and errors
- `upstream.<rule>`: the request to the upstream

The judge compares the outcome; these rules cover the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform.adapters import request_reader
from streamconform.apis import APIS
from streamconform.model.case import Level
from streamconform.wire.framings import MEDIA_TYPES
from streamconform_capture.probe import checks, documents
from streamconform_capture.probe.proxy_client import ProxyAnswer, ProxyRequest
from streamconform_capture.probe.proxy_upstream import UpstreamRequest
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.grammars.grammar import Deviation

MAX_PLACES: Final = 3
"""The maximum number of deviations quoted per broken rule; the others are only counted."""
UPSTREAM_RULES: Final[Mapping[str, Level]] = {
    "upstream.body": "must",
    "upstream.prompt": "must",
    "upstream.tools": "must",
}

BrokenRule = dict[str, str]
"""An item of `deviations` in a result, with the keys `rule` and `message`."""


def list_rules(api: str) -> dict[str, Level]:
    """Return every rule for a proxy whose clients use `api`, with its level."""
    rules: dict[str, Level] = {"http.content-type": "should"}
    rules |= {f"grammar.{rule}": level for rule, level in checks.list_rules(GRAMMARS[api]).items()}
    rules["refusal.json"] = "must"
    rules |= {f"refusal.{field.path}": field.level for field in APIS[api].probing.error}
    return {**rules, **UPSTREAM_RULES}


def check_stream(deviations: Iterable[Deviation]) -> Iterator[BrokenRule]:
    """Yield the grammar rules that a stream violates, each with its first deviations."""
    by_rule: dict[str, list[Deviation]] = {}
    for deviation in deviations:
        by_rule.setdefault(deviation.rule, []).append(deviation)
    for rule, broken in by_rule.items():
        places = [f"{checks.format_frame(place)}: {place.message}" for place in broken[:MAX_PLACES]]
        more = [f"and {len(broken) - MAX_PLACES} more"] if len(broken) > MAX_PLACES else []
        yield _break(f"grammar.{rule}", "; ".join([*places, *more, broken[0].source]))


def check_answer(api: str, answer: ProxyAnswer) -> Iterator[BrokenRule]:
    """Yield the rules that an answer's content type and error document violate."""
    is_error = answer.status >= 400
    expected = "application/json" if is_error else MEDIA_TYPES[APIS[api].framing]
    got = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if got != expected:
        yield _break("http.content-type", f"expected `{expected}`, got `{got[:80] or 'none'}`")
    if not is_error or answer.incomplete is not None:
        return
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        message = f"HTTP {answer.status} without a JSON object: {checks.quote_body(bytes(answer.body))}"
        yield _break("refusal.json", message)
        return
    for field, error in documents.check_fields(document, APIS[api].probing.error):
        if error:
            yield _break(f"refusal.{field.path}", error)


def check_upstream_request(
    request: ProxyRequest, upstream_requests: Iterable[UpstreamRequest]
) -> Iterator[BrokenRule]:
    """Yield the rules that the last upstream request violates; a missing request is reported elsewhere."""
    for upstream_request in [*upstream_requests][-1:]:
        body, quoted = upstream_request.parse_json(), checks.quote_body(bytes(upstream_request.body))
        if body is None or not isinstance(body.get("messages"), list) or not body.get("model"):
            yield _break("upstream.body", f"expected a JSON object with model and messages, got {quoted}")
            return
        # In any string of the body, because each API puts the prompt in a different place.
        if request.prompt not in _join_texts(body):
            yield _break("upstream.prompt", f"the prompt is missing: {quoted}")
        names = tuple(name for name, _, _ in request_reader.read_tools(body))
        if names != request.tools:
            sent, received = _format_names(request.tools), _format_names(names)
            yield _break(
                "upstream.tools", f"the client sent the tools {sent}, but the upstream got {received}"
            )


def _join_texts(value: Any) -> str:
    """Return all strings in a JSON value, one per line."""
    if isinstance(value, str):
        return value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return "\n".join(_join_texts(item) for item in items)


def _format_names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name[:60]}`" for name in names[:12]) or "none"


def _break(rule: str, message: str) -> BrokenRule:
    return {"rule": rule, "message": message}
