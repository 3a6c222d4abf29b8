"""Answers from a snapshot: room, faults, differences. Nothing here does I/O."""
