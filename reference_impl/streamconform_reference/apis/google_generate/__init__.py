"""Everything about Gemini, `streamGenerateContent` of the Gemini API and of Vertex AI."""

from .decode import GoogleGenerateDecoder
from .document import as_stream
from .encode import GoogleGenerateEncoder, answer
from .losses import LOSSES

__all__ = ["LOSSES", "GoogleGenerateDecoder", "GoogleGenerateEncoder", "answer", "as_stream"]
