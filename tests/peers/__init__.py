"""Peers: the table, the verb, and an adapter run in an environment of its own."""
