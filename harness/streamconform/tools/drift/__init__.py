"""`conform drift`: find shapes in streams that are neither in this suite nor in its real streams."""
