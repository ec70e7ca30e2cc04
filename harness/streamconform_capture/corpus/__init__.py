"""Download recordings published by other projects into the user's cache, and import them."""
