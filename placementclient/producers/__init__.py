"""Changes decided: each from a snapshot to the snapshot that is wanted. Pure."""
