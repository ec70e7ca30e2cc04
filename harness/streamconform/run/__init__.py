"""Trials to results."""
