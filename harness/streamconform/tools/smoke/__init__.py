"""`conform smoke`: a short conversation with an adapter, and checks that run before any library is blamed."""
