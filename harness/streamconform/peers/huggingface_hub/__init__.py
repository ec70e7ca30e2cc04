"""huggingface_hub, the Python client of Hugging Face."""
