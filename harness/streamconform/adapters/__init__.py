"""Connect to an implementation: a program that speaks protocol v1 and may host a Python callable."""
