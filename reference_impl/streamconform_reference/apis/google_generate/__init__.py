"""Everything about Gemini, `streamGenerateContent` of the Gemini API and of Vertex AI."""

from .decode import GoogleGenerateDecoder
from .document import as_stream

__all__ = ["GoogleGenerateDecoder", "as_stream"]
