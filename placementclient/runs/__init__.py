"""Apply, verify and roll back a plan, on the live service or in a rehearsal."""
