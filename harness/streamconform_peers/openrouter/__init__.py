"""openrouter, OpenRouter's Python SDK."""
