"""The checks of an audit: one function for each fault, and the list of all."""
