"""What an audit looks for: a small function for each fault, and the list of all checks."""
