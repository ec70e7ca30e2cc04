"""zai-sdk, the Python SDK of Z.ai."""
