"""The values that pass between the packages: frozen dataclasses without behavior."""
