"""`conform drift`: find what streams have that neither this suite nor its real streams have."""
