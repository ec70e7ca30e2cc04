"""Peers: the table, the command, and an adapter in its own environment."""
