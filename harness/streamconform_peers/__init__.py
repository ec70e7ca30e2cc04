"""Bundled adapters for popular libraries, each run in its own environment: `--impl peer:NAME`."""
