"""together, the Python SDK of Together AI."""
