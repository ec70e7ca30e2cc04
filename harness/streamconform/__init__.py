"""streamconform: a conformance suite for parsers of streamed LLM answers."""

__version__ = "0.1.0"

__all__ = ["__version__"]
