"""Measure how fast the reference and the harness are: `python -m tests.bench`. Nothing is asserted."""
