"""LangChain's chat models."""
