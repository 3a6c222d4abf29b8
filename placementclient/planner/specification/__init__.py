"""Parsers of specifications and assignments, with the line of each value."""
