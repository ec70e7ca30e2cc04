"""Adapters that misbehave, and the page about what happens to them."""
