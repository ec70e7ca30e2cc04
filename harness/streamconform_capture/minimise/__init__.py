"""`conform minimise`: drop frames, fields and text from a stream as long as it still fails."""
