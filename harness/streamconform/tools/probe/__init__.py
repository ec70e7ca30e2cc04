"""Judges who makes streams: a live server is asked standard questions, its answers held to the grammar."""
