"""cohere, Cohere's Python SDK, for v2 and v1."""
