"""Conversations and request bodies: the code that all request builders share."""
