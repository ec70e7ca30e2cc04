"""Conversations and request bodies: the part that all request builders share."""
