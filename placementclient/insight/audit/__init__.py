"""The checks of an audit: a small function for each fault, and the list of all."""
