"""`conform minimise`: drop frames, fields and text from a stream while it still fails."""
