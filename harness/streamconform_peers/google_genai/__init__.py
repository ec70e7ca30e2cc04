"""google-genai, Google's Gen AI SDK for Python."""
