"""mistralai, Mistral's Python SDK."""
