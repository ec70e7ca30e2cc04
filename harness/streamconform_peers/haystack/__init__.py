"""Haystack."""
