"""Conversations and request bodies: what all request builders share."""
