"""ollama, Ollama's Python client."""
