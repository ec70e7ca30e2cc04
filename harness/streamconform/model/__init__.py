"""The values passed between the packages, as frozen dataclasses without behavior."""
