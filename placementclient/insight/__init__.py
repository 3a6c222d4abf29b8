"""Answers from a snapshot: capacity, faults, differences. Pure: no I/O."""
