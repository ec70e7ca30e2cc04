"""`done_reason: stop` is taken at its word, so tool calls before it are never run."""

from __future__ import annotations

from streamconform_reference.mutants._stops import hiding_calls

adapter = hiding_calls("done-hides-calls", "ollama-chat")
