"""The replay server, which sends recorded answers over HTTP and breaks them if a fault requires it."""
