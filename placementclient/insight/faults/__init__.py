"""The checks of an audit: a small function each, by what they look at."""
