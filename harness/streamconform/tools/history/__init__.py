"""`conform peers history`: in which releases of a library each finding appears and disappears."""
