"""Values that pass between the parts: frozen, without behaviour."""
