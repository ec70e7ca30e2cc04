"""Assemble tool calls from the fragments of any provider."""
