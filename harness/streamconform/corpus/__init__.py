"""Folders of recordings that nobody wrote expectations for: read them, and compare what is made of them."""
