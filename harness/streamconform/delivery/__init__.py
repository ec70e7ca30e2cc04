"""Deliver the same stream in other bytes and chunks, or break it. Pure."""
