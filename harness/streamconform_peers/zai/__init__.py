"""zai-sdk, Z.ai's Python SDK."""
