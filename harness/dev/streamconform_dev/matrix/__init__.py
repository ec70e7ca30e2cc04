"""Judge all peers, and list what their results change: the matrix and the order of trials."""
