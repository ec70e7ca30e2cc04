"""Write the digests and lock files of the pinned releases of peers."""
