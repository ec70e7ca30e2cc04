"""`conform drift`: find shapes of streams that are not known yet."""
