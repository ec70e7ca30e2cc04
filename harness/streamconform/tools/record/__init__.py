"""Recording: real exchanges with real servers become cassettes."""
