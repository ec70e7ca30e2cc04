"""Strands Agents."""
