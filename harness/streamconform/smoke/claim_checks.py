"""Check the claims: what the adapter claims, it reports, under the keys of the normal form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, get_args

from streamconform.apis import APIS
from streamconform.judge import decode
from streamconform.judge.unknown_keys import find_unknown_keys, suggest_key
from streamconform.model.capability import Capability
from streamconform.model.outcome import Outcome, Refusal, Thinking, ToolCall
from streamconform.smoke.answer_checks import RunAnswer, iter_answers
from streamconform.smoke.protocol_checks import SmokeProblem
from streamconform.smoke.transcript import Transcript, filter_texts, read_claims

CLAIMED_GROUPS: Final[Mapping[str, Capability]] = {"usage": "usage", "cost": "cost", "error": "errors"}
"""The groups of an outcome that are judged only if they are claimed."""

REPORTED: Final[Mapping[Capability, Callable[[Outcome], bool]]] = {
    "tool_calls": lambda outcome: any(
        isinstance(block, ToolCall) and block.executor == "client" for block in outcome.content
    ),
    "thinking": lambda outcome: any(isinstance(block, Thinking) for block in outcome.content),
    "signatures": lambda outcome: any(getattr(block, "signature", None) for block in outcome.content),
    "usage": lambda outcome: (outcome.usage.input, outcome.usage.output) != (None, None),
    "cache_usage": lambda outcome: (outcome.usage.cache_read, outcome.usage.cache_write) != (None, None),
    "usage_details": lambda outcome: any(
        count is not None
        for count in (outcome.usage.reasoning, outcome.usage.cache_write_1h, outcome.usage.web_searches)
    ),
    "cost": lambda outcome: outcome.cost is not None and outcome.cost.total is not None,
    "errors": lambda outcome: outcome.error is not None,
    "refusals": lambda outcome: any(isinstance(block, Refusal) for block in outcome.content),
    "provider_tools": lambda outcome: any(
        isinstance(block, ToolCall) and block.executor == "provider" for block in outcome.content
    ),
    "raw_stop": lambda outcome: outcome.stop.raw is not None,
}
"""For each capability that an outcome can show, whether it has a value of it."""


def skip_without_claims(transcript: Transcript) -> str | None:
    """Return the reason to skip the check of claims, or None."""
    if not any(iter_answers(transcript)):
        return "no outcomes"
    has_claims = any(read_claims(transcript.hello, answer.stream.api) for answer in iter_answers(transcript))
    return None if has_claims else "nothing is claimed"


def check_claims(transcript: Transcript) -> Iterator[SmokeProblem]:
    """Yield claimed groups without a known key, and claims of which no answer has a value."""
    misspelt: set[Capability] = set()
    for answer in iter_answers(transcript):
        for group, capability in CLAIMED_GROUPS.items():
            if capability in read_claims(transcript.hello, answer.stream.api) and _has_no_key(answer, group):
                misspelt.add(capability)
                proposal = _propose_claims(transcript, [capability])
                message = (
                    f"{_describe_group(answer, group)}\notherwise, do not claim `{capability}`; {proposal}"
                )
                yield SmokeProblem(message, answer.step)
    missing = [capability for capability in _find_missing(transcript) if capability not in misspelt]
    if missing:
        names = ", ".join(f"`{capability}`" for capability in missing)
        yield SmokeProblem(
            f"{names}: claimed, but no answer to a stream with such a value has one; report it, or leave it"
            f" out of `capabilities`\n{_propose_claims(transcript, missing)}"
        )


def _has_no_key(answer: RunAnswer, group: str) -> bool:
    outcome = answer.outcome
    if not isinstance(outcome, Mapping) or not isinstance(outcome.get(group), Mapping):
        return False
    return decode.is_omitted(outcome, group)


def _describe_group(answer: RunAnswer, group: str) -> str:
    keys = find_unknown_keys({group: answer.outcome[group], "content": []})
    lines = [f"`{path}`: unknown key{suggest_key(path)}" for path in keys]
    known = ", ".join(f"`{key}`" for key in sorted(decode.GROUP_KEYS[group]))
    return "\n".join(
        (f"outcome.{group} has no known key, so it counts as null; the known keys are {known}", *lines)
    )


def _find_missing(transcript: Transcript) -> list[Capability]:
    """Return the claims that no answer reports although its stream has such a value."""
    expected: set[Capability] = set()
    reported: set[Capability] = set()
    for answer in iter_answers(transcript):
        outcome = _decode(answer)
        # A stream that is cut may lack the values, and an error explains why they are missing.
        if outcome is None or answer.stream.status != "complete" or outcome.status != "complete":
            continue
        claims = read_claims(transcript.hello, answer.stream.api)
        in_stream = [name for name in APIS[answer.stream.api].smoke.values if name in claims]
        expected.update(in_stream)
        reported.update(name for name in in_stream if REPORTED[name](outcome))
    return [capability for capability in get_args(Capability) if capability in expected - reported]


def _propose_claims(transcript: Transcript, missing: list[Capability]) -> str:
    """Return the capabilities that the answers show, and the line that claims them.

    The line keeps what the adapter claims by name and the sample streams cannot show, such as `thinking`.
    """
    returned = _find_returned(transcript)
    text = f"your adapter returned: {', '.join(returned) or 'none of the capabilities'}"
    claimed = transcript.hello.get("capabilities")
    if isinstance(claimed, Mapping):
        return text  # a mapping from API to list has no single line
    kept = {*returned, *filter_texts(claimed)} - set(missing)
    names = json.dumps([capability for capability in get_args(Capability) if capability in kept])
    if transcript.impl.startswith("cmd:"):
        return f'{text}; `"capabilities": {names}`'
    return f"{text}; `adapter.capabilities = {names}`"


def _find_returned(transcript: Transcript) -> list[Capability]:
    shown: set[Capability] = set()
    for answer in iter_answers(transcript):
        outcome = _decode(answer)
        if outcome is None:
            continue
        shown.update(capability for capability, is_reported in REPORTED.items() if is_reported(outcome))
        if answer.events:
            shown.add("events")
        if not answer.stream.trial.case.stream:
            shown.add("documents")
    return [capability for capability in get_args(Capability) if capability in shown]


def _decode(answer: RunAnswer) -> Outcome | None:
    value: Any = answer.outcome
    try:
        return decode.decode_outcome(value)
    except decode.MalformedError:
        return None  # reported by the check of the form
