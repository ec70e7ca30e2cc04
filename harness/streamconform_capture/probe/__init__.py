"""`conform probe` and `proxy:`: send standard questions to a live server or proxy, and check its answers."""
