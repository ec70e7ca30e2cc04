"""LiteLLM."""
