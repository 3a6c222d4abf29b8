"""The objects of Placement, as values. Nothing here does I/O."""
