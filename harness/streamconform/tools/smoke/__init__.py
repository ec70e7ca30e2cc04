"""Is an adapter sane, before the library behind it is blamed: a short conversation, and checks over it."""
