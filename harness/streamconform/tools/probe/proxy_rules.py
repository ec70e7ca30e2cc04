"""The rules that a proxy's streams and its requests are held to, beside what comes of them. Pure.

- `grammar.<rule>`: the order and the fields of the stream, as `conform probe` has them
- `http.content-type`, `refusal.<path>`: how a stream and a refusal are sent
- `upstream.<rule>`: what it asks of its upstream
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.grammars.grammar import Deviation

from streamconform.apis import APIS
from streamconform.model.case import Level
from streamconform.peers import request_reader
from streamconform.tools.probe import checks, documents
from streamconform.tools.probe.proxy_client import Answer, Question
from streamconform.tools.probe.proxy_upstream import Asked
from streamconform.wire.framings import MEDIA_TYPES

PLACES: Final = 3
"""Places named of a broken rule."""
UPSTREAM: Final[Mapping[str, Level]] = {
    "upstream.body": "must",
    "upstream.prompt": "must",
    "upstream.tools": "must",
}

Broken = dict[str, str]
"""What `deviations` of a result has: the member `rule`, and its `message`."""


def held(api: str) -> dict[str, Level]:
    """Return every rule that a proxy whose clients speak `api` is held to."""
    rules: dict[str, Level] = {"http.content-type": "should"}
    rules |= {f"grammar.{rule}": level for rule, level in checks.held(GRAMMARS[api]).items()}
    rules["refusal.json"] = "must"
    rules |= {f"refusal.{each.path}": each.level for each in APIS[api].probing.error}
    return {**rules, **UPSTREAM}


def of_stream(found: Iterable[Deviation]) -> Iterator[Broken]:
    """Yield the rules of the grammar that a stream breaks, each with its first places."""
    places: dict[str, list[Deviation]] = {}
    for each in found:
        places.setdefault(each.rule, []).append(each)
    for rule, own in places.items():
        words = [f"{checks.where(each)}: {each.message}" for each in own[:PLACES]]
        more = [f"and at {len(own) - PLACES} more places"] if len(own) > PLACES else []
        yield _broken(f"grammar.{rule}", "; ".join([*words, *more, own[0].source]))


def of_answer(api: str, answer: Answer) -> Iterator[Broken]:
    """Yield what is wrong with the head of an answer, and with the document of a refusal."""
    refusal = answer.status >= 400
    expected = "application/json" if refusal else MEDIA_TYPES[APIS[api].framing]
    got = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if got != expected:
        yield _broken("http.content-type", f"expected `{expected}`, got `{got[:80] or 'none'}`")
    if not refusal or answer.broken is not None:
        return
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        words = f"HTTP {answer.status}, and no JSON object: {checks.excerpt(bytes(answer.body))}"
        yield _broken("refusal.json", words)
        return
    for each, wrong in documents.faults(document, APIS[api].probing.error):
        if wrong:
            yield _broken(f"refusal.{each.path}", wrong)


def of_upstream(asking: Question, came: Iterable[Asked]) -> Iterator[Broken]:
    """Yield what is wrong with the last request that the upstream got; where none came others say so."""
    last = [*came][-1:]
    for each in last:
        body = each.json()
        if body is None or not isinstance(body.get("messages"), list) or not body.get("model"):
            kept = checks.excerpt(bytes(each.body))
            yield _broken("upstream.body", f"expected a JSON object with model and messages, got {kept}")
            return
        if asking.prompt not in _texts(body):
            yield _broken("upstream.prompt", f"the user's words are lost: {checks.excerpt(bytes(each.body))}")
        names = tuple(name for name, _, _ in request_reader.read_tools(body))
        if names != asking.tools:
            words = f"the client sent the tools {_listed(asking.tools)}, the upstream got {_listed(names)}"
            yield _broken("upstream.tools", words)


def _texts(value: Any) -> str:
    """Return all texts in a value, one behind the other."""
    if isinstance(value, str):
        return value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return "\n".join(_texts(each) for each in items)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name[:60]}`" for name in names[:12]) or "none"


def _broken(rule: str, words: str) -> Broken:
    return {"rule": rule, "message": words}
