"""Compare implementations over recordings that have no hand-written expectations."""
