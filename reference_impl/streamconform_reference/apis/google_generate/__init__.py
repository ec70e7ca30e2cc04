"""Everything about Gemini, `streamGenerateContent` of the Gemini API and of Vertex AI."""

from .decode import GoogleGenerateDecoder
from .document import to_payloads
from .encode import GoogleGenerateEncoder, write_document
from .losses import LOSSES

__all__ = ["LOSSES", "GoogleGenerateDecoder", "GoogleGenerateEncoder", "to_payloads", "write_document"]
