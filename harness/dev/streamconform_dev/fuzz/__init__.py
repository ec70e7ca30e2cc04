"""Decode damaged streams with the reference, millions of times."""
