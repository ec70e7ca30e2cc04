"""The same stream in other bytes and cuts. Pure."""
