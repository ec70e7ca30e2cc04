"""Checks of how a program behaves: greeting, claims, stdout, time, what it does not know, its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.adapters.protocol import VERSION, quote_line
from streamconform.apis import APIS
from streamconform.model.capability import CAPABILITIES
from streamconform.printable import escape_unprintable
from streamconform.tools.smoke.schema_messages import closest, misfits
from streamconform.tools.smoke.transcript import Exchange, Message, Transcript, fed, texts

TRACEBACK_LINES: Final = 6
OF_THEIR_OWN: Final = frozenset({"unknown op", "unknown api"})
"""Steps that have checks of their own."""
PAYLOAD: Final = {"outcome": {"status": "complete", "content": []}, "events": None}
"""What stands for an answer while its envelope is looked at."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to be fixed, and the step that showed it, where one did."""

    words: str
    step: str | None = None


def always(_: Transcript) -> str | None:
    """Return None: there is always something to look at."""
    return None


def greeted(seen: Transcript) -> str | None:
    """Return why nothing is known of the adapter, or None."""
    return None if seen.hello.get("op") == "hello" else "it did not greet"


def anything_asked(seen: Transcript) -> str | None:
    """Return why nothing was asked, or None."""
    if seen.exchanges:
        return None
    if fed(seen.hello) is None:
        return "nothing was asked: it names no input first that is known: bytes, push, http"
    return greeted(seen) or "nothing was asked: it claims no api that is known here"


def answered(seen: Transcript) -> str | None:
    """Return why no answer can be looked at, or None."""
    there = any(each.results for each in seen.exchanges)
    return anything_asked(seen) or (None if there else "no answer came")


def over_http(seen: Transcript) -> str | None:
    """Return why there are no requests to look at, or None."""
    return anything_asked(seen) or (None if fed(seen.hello) == "http" else "it is not fed over HTTP")


def there_at_the_end(seen: Transcript) -> str | None:
    """Return why its end cannot be looked at, or None."""
    return greeted(seen) or (None if seen.stopped is not None else "it was gone before")


def tried(step: str) -> Callable[[Transcript], str | None]:
    """Return what tells why a step with this ending was not taken, or None."""

    def reason(seen: Transcript) -> str | None:
        if any(each.step.endswith(step) for each in seen.exchanges):
            return None
        return anything_asked(seen) or "not tried: it had ended or hung too often"

    return reason


def greeting(seen: Transcript) -> Iterator[Problem]:
    """Yield what is wrong with the greeting, apart from what is claimed in it."""
    given, wrong = seen.greeting.read
    if given is None:
        yield Problem(wrong)
        return
    if given.get("op") != "hello":
        yield Problem(f"expected a line with `op` `hello`, got {quote_line(seen.greeting.line)}")
        return
    plain = {key: value for key, value in given.items() if key not in ("capabilities", "apis")}
    for words in misfits("protocol.v1", plain, "hello", "hello"):
        yield Problem(words)
    if given.get("protocol") != VERSION:
        yield Problem(f"answer with `protocol` {VERSION}; another version is never asked for anything")


def apis(seen: Transcript) -> Iterator[Problem]:
    """Yield the apis that nobody knows, and claims about apis that are not named."""
    given = seen.hello.get("apis")
    if given is not None and (not isinstance(given, list) or len(texts(given)) < len(given)):
        yield Problem('hello.apis is a list of names, such as ["anthropic-messages"]')
    if given == []:
        yield Problem(
            "it claims no api, so nothing is ever asked; name those that it reads, or leave `apis` out"
        )
    for name in texts(given):
        if name not in APIS:
            yield Problem(f"api `{escape_unprintable(name[:500])}` is not known" + _meant(name, APIS))
    claims = seen.hello.get("capabilities")
    if isinstance(given, list) and isinstance(claims, Mapping):
        for name in claims:
            if name not in given:
                yield Problem(
                    f"capabilities are claimed for `{escape_unprintable(name[:500])}`, which is not in `apis`"
                )


def capabilities(seen: Transcript) -> Iterator[Problem]:
    """Yield the capabilities that nobody knows."""
    claims = seen.hello.get("capabilities")
    lists = claims.values() if isinstance(claims, Mapping) else (claims,)
    for given in lists:
        if given is not None and (not isinstance(given, list) or len(texts(given)) < len(given)):
            yield Problem('hello.capabilities is a list of names, or one for each api: {"openai-chat": […]}')
        for name in texts(given):
            if name not in CAPABILITIES:
                yield Problem(
                    f"capability `{escape_unprintable(name[:500])}` is not known" + _meant(name, CAPABILITIES)
                )


def stdout(seen: Transcript) -> Iterator[Problem]:
    """Yield every line on stdout that is no message, or one for nobody."""
    asked = {id_ for each in seen.exchanges for id_ in each.asked}
    for step, message in _lines(seen):
        given, wrong = message.read
        if given is None:
            yield Problem(wrong, step)
            continue
        op = given.get("op")
        if op not in ("result", "event"):
            yield Problem(f"`op` is {op!a}, expected `result` or `event`: {quote_line(message.line)}", step)
        elif given.get("id") not in asked and given.get("id") is not None:
            if step != "unknown op":
                words = f"a message for a run that was never asked: {quote_line(message.line)}"
                yield Problem(f"{words}; send back the id of the run", step)
        else:
            for words in misfits("protocol.v1", {**given, **_plain(given)}, op, op):
                yield Problem(words, step)


def in_time(seen: Transcript) -> Iterator[Problem]:
    """Yield the runs without an answer, those with two, and the ends of the program."""
    for each in seen.exchanges:
        if each.step in OF_THEIR_OWN:
            continue
        if each.ended is not None:
            yield Problem(f"{each.ended}; it is to answer until `stop`", each.step)
        elif each.late:
            yield Problem(f"no answer in {seen.seconds:g} s; flush stdout after each line", each.step)
    answered = Counter(
        message.object.get("id")
        for _, message in _lines(seen)
        if message.object.get("op") == "result" and isinstance(message.object.get("id"), str)
    )
    steps = {id_: each.step for each in seen.exchanges for id_ in each.asked}
    for id_, times in answered.items():
        if times > 1 and id_ in steps:
            yield Problem(f"answered {times} times; answer a run once, with `result`", steps[str(id_)])
    if seen.untried:
        yield Problem(f"not tried any more: {', '.join(seen.untried)}")


def errored(seen: Transcript) -> Iterator[Problem]:
    """Yield the failures that the adapter told of, and what it declined though it claims it."""
    for each in seen.exchanges:
        for id_, result in each.results.items():
            if each.asked[id_] is None:
                continue
            failed, skipped = result.get("errored"), result.get("skipped")
            if isinstance(failed, Mapping):
                yield Problem(_failure(failed), each.step)
            elif isinstance(skipped, Mapping) and "outcome" not in result:
                reason = escape_unprintable(str(skipped.get("reason"))[:500])
                words = f"declined what it claims ({reason}); claim less in `apis`, or answer"
                yield Problem(words, each.step)


def requests(seen: Transcript) -> Iterator[Problem]:
    """Yield what the server has to say of the requests."""
    for each in seen.exchanges:
        for words in each.complaints:
            yield Problem(words, each.step)
    judged = any(stream is not None for each in seen.exchanges for stream in each.asked.values())
    for each in () if judged else seen.exchanges:
        for words in each.mismatches:
            yield Problem(f"no request asks for a stream that is recorded here: {words}", each.step)


def unknown_op(seen: Transcript) -> Iterator[Problem]:
    """Yield what goes wrong after a message that a later version may send."""
    asked = {id_ for each in seen.exchanges for id_ in each.asked}
    for each in _steps(seen, "unknown op"):
        if each.ended is not None or each.late:
            yield Problem(
                "a message with an `op` that it does not know is to be ignored; it stopped answering"
            )
            continue
        for message in each.said:
            if message.read[0] is not None and message.object.get("id") not in asked:
                yield Problem(
                    f"it said {quote_line(message.line)} to an `op` that it does not know; say nothing"
                )


def unknown_api(seen: Transcript) -> Iterator[Problem]:
    """Yield what goes wrong at an api that nobody knows: any answer will do, but one has to come."""
    for each in _steps(seen, "unknown api"):
        if each.ended is not None or each.late:
            words = 'answer `"skipped": {"reason": …}` for an api that it does not read; it stopped answering'
            yield Problem(words)


def stop(seen: Transcript) -> Iterator[Problem]:
    """Yield whether it had to be ended."""
    if seen.stopped is False:
        yield Problem("it went on after `stop` and the end of its input; end then, and its children with it")
    elif seen.stopped and seen.code:
        yield Problem(f"it ended with code {seen.code} after `stop`; end with 0")


def _meant(name: str, known: Mapping[str, object] | frozenset[str]) -> str:
    near = closest(name, known)
    if near is not None:
        return f"; did you mean `{near}`?"
    return f"; known are {', '.join(f'`{each}`' for each in sorted(known))}"


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return harmless values for the outcome and the events of a message: they have checks of their own."""
    if given.get("op") == "event":
        return {"event": {"type": "usage"}} if "event" in given else {}
    return {key: value for key, value in PAYLOAD.items() if key in given}


def _failure(failed: Mapping[str, Any]) -> str:
    """Return the message of a failure, with the end of its traceback."""
    trace = failed.get("traceback")
    lines = trace.strip().splitlines()[-TRACEBACK_LINES:] if isinstance(trace, str) else []
    told = [f"the adapter failed: {escape_unprintable(str(failed.get('message'))[:500])}"]
    return "\n".join([*told, *(f"  | {escape_unprintable(line[:500])}" for line in lines)])


def _lines(seen: Transcript) -> Iterator[tuple[str | None, Message]]:
    for each in seen.exchanges:
        for message in each.said:
            yield each.step, message
    for message in seen.leftover:
        yield "after the last", message


def _steps(seen: Transcript, name: str) -> Iterator[Exchange]:
    return (each for each in seen.exchanges if each.step == name)
