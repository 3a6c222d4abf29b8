"""The rules by which Placement grants candidates."""
