"""`conform peers history`: find the releases of a library in which each finding appears and disappears."""
