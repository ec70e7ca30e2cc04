"""`conform drift`: find shapes in streams that are not among the known shapes."""
