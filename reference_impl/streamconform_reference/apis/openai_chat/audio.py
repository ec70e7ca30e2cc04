"""Spoken answers, which have an end of their own: OpenAI sends no `finish_reason` after audio.

The last update of `delta.audio` has only `expires_at`. The outcome has no place for the audio itself.

Source: `ChatCompletionStream` of the `openai` package for Node.js, and recordings from two years
(openai/openai-node#1206, #1991)
"""

from __future__ import annotations

from typing import Final

from streamconform_reference.decoding.decoder import Payload

AUDIO: Final = "audio"
_CONTENT: Final = ("content", "refusal", "tool_calls", "function_call")


class Audio:
    """Whether the audio of one answer has ended."""

    def __init__(self) -> None:
        """Start with no audio."""
        self.ended = False
        self._has_data = False

    def read(self, delta: Payload) -> None:
        """Read a delta; any content after the end means that it was not the end."""
        audio = delta.get(AUDIO)
        update = audio if isinstance(audio, dict) else {}
        self._has_data = self._has_data or bool(update.get("data"))
        if update.get("data") or update.get("transcript") or any(delta.get(key) for key in _CONTENT):
            self.ended = False
        elif update.get("expires_at"):
            self.ended = self._has_data
