"""A conversation as the run with which a client asks our server, once or, for a round trip, twice. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamconform.model.trial import Call, RoundTrip


def conversed(trial: Call | RoundTrip) -> dict[str, Any]:
    """Return the members of a run that say what to ask for; nothing in them tells what is expected."""
    if isinstance(trial, Call):
        return _told(trial.case.api, trial.case.input, None)
    case = trial.case
    told = _told(case.api, case.conversation, case.second.pricing)
    return told | {"results": list(case.results)}


def _told(
    api: str | None, conversation: Mapping[str, Any], pricing: Mapping[str, Any] | None
) -> dict[str, Any]:
    told = {"api": api, "request": None, "model": conversation["model"], "pricing": pricing}
    return told | {"conversation": conversation}
