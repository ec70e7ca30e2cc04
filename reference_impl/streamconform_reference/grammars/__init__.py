"""Grammars: the strict definition of a legal stream for each API."""
