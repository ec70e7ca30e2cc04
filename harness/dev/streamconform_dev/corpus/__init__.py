"""Write what is derived from recordings of others: specs, shapes and prices."""
