"""The suite judged by parsers that are broken on purpose."""
