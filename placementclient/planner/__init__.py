"""From a specification and a snapshot to a plan. Pure: no I/O, no clock, no randomness."""
