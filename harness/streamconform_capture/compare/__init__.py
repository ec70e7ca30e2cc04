"""Compare implementations on recordings that have no hand-written expectations."""
