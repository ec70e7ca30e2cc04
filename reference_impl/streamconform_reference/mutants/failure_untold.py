"""Nothing says that a tool failed."""

from __future__ import annotations

from ._asking import Asked, asking


def succeeded(asked: Asked) -> Asked:
    """Take the mark of every result away."""
    messages = [
        {**each, "results": [{k: v for k, v in result.items() if k != "error"} for result in each["results"]]}
        if "results" in each
        else each
        for each in asked["messages"]
    ]
    return {**asked, "messages": messages}


adapter = asking(
    "failure-untold", "anthropic-messages", "bedrock-converse", "google-generate", given=succeeded
)
