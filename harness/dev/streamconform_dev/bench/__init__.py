"""Measure how fast the reference and the harness are: `conform dev bench`.

Nothing is asserted.
"""
