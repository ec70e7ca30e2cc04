"""cerebras-cloud-sdk, Cerebras's Python SDK."""
