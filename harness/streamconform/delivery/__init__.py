"""Deliver the same stream as different bytes and chunks, or break it. Pure."""
