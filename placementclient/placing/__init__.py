"""The rules by which Placement grants candidates: who may serve what, and in which ways."""
