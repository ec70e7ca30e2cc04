"""anthropic, Anthropic's Python SDK: raw events and the accumulating helper."""
