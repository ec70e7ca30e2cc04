"""Innocents that leave out one optional key: the library does not expose the value."""

from __future__ import annotations

from typing import Final

from . import grants
from .model import Answer, Change, TrialFacts
from .registry import Registry
from .rewrite import get_content, iter_blocks, iter_events, iter_groups, must_not_run

innocents = Registry()

GOOGLE: Final = ("google-generate", "google-interactions")

_TOP: Final = ("model", "response_id", "continuation")
_IN_GROUPS: Final = {
    "stop": ("raw", "sequence", "details"),
    "usage": ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning", "web_searches"),
    "cost": ("input", "cache_read", "cache_write", "output", "other", "total"),
    "error": ("type", "status"),
}
_IN_BLOCKS: Final = {
    "tool_call": ("id", "arguments_text", "signature"),
    "text": ("phase", "signature", "citations"),
    "thinking": ("signature", "redacted"),
}
"""The optional keys. The outcome of the reference has every key, so leaving one out changes each answer."""
_CITATION: Final = ("source", "title", "quote", "start", "end", "data")
CITING: Final = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "google-interactions",
    "openai-chat",
    "openai-responses",
)


def _omit_top(key: str) -> Change:
    def change(facts: TrialFacts, answer: Answer) -> None:
        del facts
        del answer["outcome"][key]

    return change


def _omit_in_group(group: str, key: str) -> Change:
    def change(facts: TrialFacts, answer: Answer) -> None:
        del facts
        for value in iter_groups(answer, group):
            # A group that contains only nulls counts as null, and a claimed group must not be null.
            if any(number is not None for name, number in value.items() if name not in (key, "currency")):
                value.pop(key, None)

    return change


def _omit_in_blocks(type_: str, key: str) -> Change:
    def change(facts: TrialFacts, answer: Answer) -> None:
        del facts
        for block in iter_blocks(answer, type_):
            block.pop(key, None)
        if type_ == "tool_call":
            for event in iter_events(answer):
                if event["type"] == "toolcall_start":
                    event.pop(key, None)

    return change


def _omit_in_citations(key: str) -> Change:
    def change(facts: TrialFacts, answer: Answer) -> None:
        del facts
        for block in iter_blocks(answer, "text"):
            for citation in block.get("citations") or ():
                citation.pop(key, None)

    return change


for _key in _TOP:
    innocents.register(
        f"no-{_key.replace('_', '-')}", grants.ABSENT, description=f"Does not expose `{_key}`."
    )(_omit_top(_key))
for _group, _keys in _IN_GROUPS.items():
    for _key in _keys:
        innocents.register(
            f"no-{_group}-{_key.replace('_', '-')}",
            grants.ABSENT,
            description=f"Does not expose `{_group}.{_key}`.",
        )(_omit_in_group(_group, _key))
for _type, _keys in _IN_BLOCKS.items():
    for _key in _keys:
        innocents.register(
            f"no-{_type.replace('_', '-')}-{_key.replace('_', '-')}",
            grants.ABSENT,
            description=f"Does not expose `{_key}` of `{_type}` blocks.",
        )(_omit_in_blocks(_type, _key))
for _key in _CITATION:
    innocents.register(
        f"no-citation-{_key}",
        grants.CITATION_KEYS,
        apis=CITING,
        description=f"Does not expose `{_key}` of citations.",
    )(_omit_in_citations(_key))


@innocents.register(
    "no-complete",
    grants.NO_COMPLETE_FLAG,
)
def _omit_complete(facts: TrialFacts, answer: Answer) -> None:
    """Has no flag for calls that ended; the arguments of the other calls are null."""
    del facts
    for block in iter_blocks(answer, "tool_call"):
        if must_not_run({**block, "type": "tool_call"}):
            block["arguments"] = None
        block.pop("complete")


@innocents.register("nothing-optional", grants.ABSENT)
def _omit_all(facts: TrialFacts, answer: Answer) -> None:
    """Exposes no optional key at all."""
    for key in _TOP:
        _omit_top(key)(facts, answer)
    for group, keys in _IN_GROUPS.items():
        for key in keys:
            # Counts and amounts stay, because the groups are claimed.
            if group not in ("usage", "cost"):
                _omit_in_group(group, key)(facts, answer)
    for type_, keys in _IN_BLOCKS.items():
        for key in keys:
            _omit_in_blocks(type_, key)(facts, answer)
    _omit_complete(facts, answer)


@innocents.register(
    "calls-without-executor",
    grants.EXECUTOR,
)
def _omit_executor(facts: TrialFacts, answer: Answer) -> None:
    """Reports null as the executor of client calls."""
    del facts
    for block in iter_blocks(answer, "tool_call"):
        if block["executor"] == "client":
            block["executor"] = None


@innocents.register("no-extra-text-keys", grants.ABSENT)
def _omit_text_keys(facts: TrialFacts, answer: Answer) -> None:
    """Exposes only the text of text blocks."""
    del facts
    for block in get_content(answer):
        if block["type"] == "text":
            for key in ("phase", "signature", "citations"):
                block.pop(key)
