"""The commands of this package, each imported when it is called."""
