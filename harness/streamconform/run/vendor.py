"""Decide which streams a vendor's client is judged on: only those that the vendor may send. Pure.

Many vendors offer another vendor's API with restrictions of their own. A client written for one vendor does
not promise to read other vendors' streams, so rejecting them is not a bug.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final

from streamconform.apis import APIS
from streamconform.apis.payloads import Payload, read_payload
from streamconform.model.case import AnyCase, BehaviorCase, Case
from streamconform.model.trial import VARIANTS, AnyTrial, Framing, Trial
from streamconform.wire.framings import split

if TYPE_CHECKING:
    import jsonschema_rs

_TAG: Final = "vendor-"
"""The prefix of the tags that name the vendors that send a case's stream."""
_OF_THE_API: Final = ("error-frame", "unknown-event")
"""Deliveries and faults that add a frame that the API documents but a vendor may not."""


def explain_foreign_case(case: AnyCase, vendor: str) -> str | None:
    """Return why `vendor`'s client is not judged on `case`, or None if the vendor may send its stream."""
    vendors = sorted(tag.removeprefix(_TAG) for tag in case.tags if tag.startswith(_TAG))
    if vendors and vendor not in vendors:
        return f"a stream from {', '.join(vendors)}, not from {vendor}"
    if isinstance(case, BehaviorCase):
        reasons = (explain_foreign_case(stream, vendor) for stream in case.streams.values())
        return next(filter(None, reasons), None)
    if case.api is None or not isinstance(case, Case) or case.unavailable is not None:
        return None
    is_error = case.cassette.status >= 400
    validator = _build_validator(case.api, vendor, of_errors=is_error)
    if validator is None:
        return None
    body = case.cassette.body
    payloads = [frame.payload for frame in split(APIS[case.api].frame_case(case, body), body)]
    if is_error or not case.stream:
        payloads = [body]
    for number, payload in enumerate(payloads):
        # Empty for `[DONE]` and for payloads that are not JSON; any server may send those.
        value = _read_payload(payload)
        error = next(iter(validator.iter_errors(value)), None) if value else None
        if error is not None:
            where = "".join(f"{part}: " for part in (".".join(map(str, error.instance_path)),) if part)
            return f"{vendor} does not send such a stream: frame {number}: {where}{error.message}"
    return None


def explain_foreign_trial(trial: AnyTrial, vendor: str) -> str | None:
    """Return why `vendor`'s client is not judged on `trial`, although it is judged on the trial's case."""
    if not isinstance(trial, Trial):
        return None
    kind = trial.delivery.partition(".")[0]
    api = trial.case.api
    if kind in VARIANTS and not _sends(api, vendor, APIS[api].frame_case(trial.case, trial.body), trial.body):
        return f"{vendor} does not document the frames of `{kind}`"
    if kind in _OF_THE_API and not _sends_frame(api, vendor, kind):
        return f"{vendor} does not document the frame that `{kind}` adds"
    return None


@cache
def _sends_frame(api: str, vendor: str, kind: str) -> bool:
    """Return whether the vendor, like the API, documents the frame that a delivery or a fault adds."""
    added = APIS[api].ending.error_frame if kind == "error-frame" else APIS[api].extensions.event
    return all(_sends(api, vendor, framed, body) for framed, body in added.items())


def _sends(api: str, vendor: str, framed: Framing, body: bytes) -> bool:
    """Return whether the vendor documents the payloads of `body`."""
    validator = _build_validator(api, vendor, of_errors=False)
    payloads = (_read_payload(frame.payload) for frame in split(framed, body))
    # Empty for `[DONE]`, which any server may send.
    return validator is None or all(validator.is_valid(payload) for payload in payloads if payload)


def _read_payload(payload: bytes) -> Payload:
    """Return a frame's payload with `?` for half a surrogate pair, which the validator cannot read."""
    value = read_payload(payload)
    if b"\\u" not in payload:
        return value
    whole: Payload = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return whole


@cache
def _build_validator(api: str, vendor: str, *, of_errors: bool) -> jsonschema_rs.Validator | None:
    """Return the validator for a vendor's payloads, or None if the vendor documents no such restrictions."""
    import jsonschema_rs

    schemas = APIS[api].vendor_errors if of_errors else APIS[api].vendor_payloads
    schema = schemas.get(vendor)
    return None if schema is None else jsonschema_rs.validator_for(schema)
