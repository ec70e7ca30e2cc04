"""`conform smoke`: check with a short conversation that an adapter works, before its library is judged."""
