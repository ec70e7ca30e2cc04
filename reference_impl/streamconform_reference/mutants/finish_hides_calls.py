"""`finishReason: STOP` is taken at its word, so function calls before it are never run."""

from __future__ import annotations

from streamconform_reference.mutants._stops import hiding_calls

adapter = hiding_calls("finish-hides-calls", "google-generate")
