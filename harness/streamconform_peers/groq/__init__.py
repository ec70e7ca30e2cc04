"""groq, Groq's Python SDK."""
