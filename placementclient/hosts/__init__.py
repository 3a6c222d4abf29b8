"""What only hosts and Nova's database know, turned into assignments and additions."""
