"""What Placement knows, as values. Nothing here does I/O."""
