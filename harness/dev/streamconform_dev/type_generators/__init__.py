"""Install the generators of types that a test runs."""
