"""Load specs and cassettes from disk, select cases, and expand them into trials."""
