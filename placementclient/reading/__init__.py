"""A Placement, or some trees of it, read and built up again."""
