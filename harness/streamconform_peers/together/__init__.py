"""together, Together AI's Python SDK."""
