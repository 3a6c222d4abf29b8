"""The objects of Placement, as values. Pure: no I/O."""
