"""Which streams the client of a vendor is judged on: those that the vendor sends. Pure.

Many vendors serve the API of another one, each with its own limits. A client written for one of them does not
promise to read the streams of the others, so rejecting them is no bug.
"""

from __future__ import annotations

from typing import Any

from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.model.case import AnyCase, Case
from streamconform.model.trial import AnyTrial, Trial
from streamconform.wire.framings import split

TAG: str = "vendor-"
"""Prefix of the tags that name the vendors whose streams a case shows."""
_OF_THE_API = ("error-frame", "unknown-event")
"""Deliveries and faults that add a frame which the API documents, and a vendor may not."""


def explain_foreign_case(case: AnyCase, vendor: str) -> str | None:
    """Return why a client of `vendor` is not judged on `case`, or None if the vendor may send its stream."""
    vendors = sorted(tag.removeprefix(TAG) for tag in case.tags if tag.startswith(TAG))
    if vendors and vendor not in vendors:
        return f"a stream of {', '.join(vendors)}, not of {vendor}"
    schema = _find_schema(case, vendor)
    if schema is None or not isinstance(case, Case) or case.unavailable is not None:
        return None
    framed = APIS[case.api].frame_case(case, case.cassette.body)
    payloads = [frame.payload for frame in split(framed, case.cassette.body)]
    if not case.stream and case.cassette.status < 400:
        payloads = [case.cassette.body]
    for number, payload in enumerate(payloads):
        value = read_payload(
            payload
        )  # empty for `[DONE]` and for what is not JSON, which any server can send
        problem = _find_problem(schema, value) if value else None
        if problem is not None:
            return f"{vendor} does not send such a stream: frame {number}: {problem}"
    return None


def explain_foreign_trial(trial: AnyTrial, vendor: str) -> str | None:
    """Return why a client of `vendor` is not judged on `trial`, whose case is of that vendor."""
    kind = trial.delivery.partition(".")[0] if isinstance(trial, Trial) else ""
    if kind in _OF_THE_API and _find_schema(trial.case, vendor) is not None:
        return f"{vendor} does not document the frame that `{kind}` adds"
    return None


def _find_schema(case: AnyCase, vendor: str) -> dict[str, Any] | None:
    return APIS[case.api].vendor_payloads.get(vendor) if case.api is not None else None


def _find_problem(schema: dict[str, Any], value: Any) -> str | None:
    """Return the first problem of a payload, on one line."""
    from jsonschema_rs import validator_for

    error = next(iter(validator_for(schema).iter_errors(value)), None)
    if error is None:
        return None
    path = ".".join(map(str, error.instance_path))
    return f"{path}: {error.message}" if path else str(error.message)
