"""openrouter, the Python SDK of OpenRouter."""
