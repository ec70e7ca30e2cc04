"""huggingface_hub, Hugging Face's Python client."""
