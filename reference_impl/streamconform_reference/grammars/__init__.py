"""Grammars: what a legal stream of each API is, in strict form."""
