"""Adapters for libraries that many use, each in an environment of its own: `--impl peer:NAME`."""
