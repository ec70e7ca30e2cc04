"""Deliver the same stream in different bytes and chunks, or break it. Pure."""
