"""Specs and cassettes on disk to cases and trials."""
