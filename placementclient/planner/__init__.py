"""Plans from a specification and a snapshot. Pure: no I/O, no clock, no randomness."""
