"""Reach an implementation: a program that speaks protocol v1, which may host a Python callable."""
