"""`conform dev history`: find the releases of a library that introduced and fixed each finding."""
