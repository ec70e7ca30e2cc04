"""Recordings that other projects publish: download them into the user's cache and read them."""
