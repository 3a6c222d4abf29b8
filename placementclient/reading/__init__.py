"""Readers of a Placement, or of some of its trees."""
