"""JSON text: exact parsing and writing, and parsing of incomplete text."""
