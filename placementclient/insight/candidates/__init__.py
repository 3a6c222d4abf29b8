"""The candidates of a request, and the changes that would give it some."""
