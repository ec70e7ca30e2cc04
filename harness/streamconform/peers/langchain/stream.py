"""`peer:langchain`: LangChain's chat models, `stream()`, the chunks added up, `content_blocks` of the sum.

The prompt and the tools of the request are sent in the library's own form. Calls are the sum's `tool_calls`
and `invalid_tool_calls`. What a provider's SDK raises comes through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_google_genai.chat_models import ChatGoogleGenerativeAIError

from streamconform.peers.anthropic import errors
from streamconform.peers.cohere import v1
from streamconform.peers.connection_errors import LOST, told
from streamconform.peers.google_genai import parts
from streamconform.peers.langchain import messages
from streamconform.peers.langchain import settings as langchain_settings
from streamconform.peers.langchain.blocks import blocks, counts
from streamconform.peers.langchain.models import MODELS, prompt, tools
from streamconform.peers.normal_form import Error, at, outcome
from streamconform.peers.openai import chat

STOPS: Final[Mapping[str, str]] = {
    **chat.STOPS,
    **errors.STOPS,
    **parts.STOPS,
    **v1.STOPS,
    "completed": "stop",
    "max_output_tokens": "length",
}
"""Its integrations hand the provider's own word on."""
REASONS: Final = ("finish_reason", "stop_reason", "done_reason")
"""Where its integrations put the provider's stop reason, in `response_metadata`."""


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run; of a round trip both."""
    if run.conversation is None:
        return _asked(run, prompt(run), {}, {})[0]
    given, api = run.conversation, run.api
    said = messages.history(given, api, langchain_settings.mark(given, api))
    beside = langchain_settings.settings(given, api), langchain_settings.choice(given, api)
    first, answer = _asked(run, said, *beside)
    if run.results is None or answer is None:
        return first
    try:
        said += [answer, *messages.returned(answer, run.results)]
    except ValueError as thrown:  # a call that it gave without an id cannot be answered
        return {"first": first, "outcome": outcome([], None, None, error=told(thrown))}
    return {"first": first, "outcome": _asked(run, said, *beside)[0]}


def _asked(
    run: Any, said: Any, settings: dict[str, Any], choice: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Return the outcome, and the message that its user would send back."""
    error: Error | None = None
    whole: Any = None
    lost = False
    try:
        bound = settings if run.api == "cohere-chat" else {}  # its class has no fields for them
        model = MODELS[run.api](run, **({} if bound else settings))
        declared = tools(run)
        model = model.bind_tools(declared, **choice) if declared else model
        model = model.bind(**bound) if bound else model
        if (run.conversation or {}).get("stream") is False:
            whole = model.invoke(said)
        else:
            for chunk in model.stream(said):
                whole = chunk if whole is None else whole + chunk
    except LOST:
        lost = True
    except ChatGoogleGenerativeAIError as thrown:  # the provider's error is its cause
        error = told(thrown.__cause__ if isinstance(thrown.__cause__, Exception) else thrown)
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    return _outcome(whole, error, lost=lost), whole


def _outcome(whole: Any, error: Error | None, *, lost: bool) -> dict[str, Any]:
    told_of = at(whole, "response_metadata") or {}
    raw = next((str(told_of[name]) for name in REASONS if told_of.get(name)), None)
    raw = raw or at(told_of, "incomplete_details", "reason") or at(told_of, "status")
    blocked = at(told_of, "prompt_feedback", "block_reason")
    raw = raw or (str(at(blocked, "value") or blocked) if blocked else None)
    raw = None if lost else raw  # it gave no whole answer
    return outcome(
        list(blocks(whole, complete=bool(raw))) if whole is not None else [],
        "content_filter" if blocked and raw else STOPS.get(raw, "other") if raw else None,
        raw,
        usage=counts(at(whole, "usage_metadata") or told_of.get("token_count")),
        error=error,
        model=told_of.get("model_name") or told_of.get("model"),
        response_id=told_of.get("id") or _provider_id(at(whole, "id")),
    )


def _provider_id(given: str | None) -> str | None:
    """Return the id of the message, unless it is a number of LangChain's own runs."""
    return None if (given or "").startswith("lc_run-") else given
